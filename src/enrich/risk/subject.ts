import type { Field, SubjectKind } from '../../event/risk-words.ts';

/** One effect of an action, in the fields that rules match. */
export interface Subject {
  on: SubjectKind;
  fields: { readonly [field in Field]?: readonly string[] };
  /** The kinds of places that a command names. Computed on demand, since few rules ask for it. */
  places?: (() => readonly string[]) | undefined;
  /** The kinds of secrets in a text, computed on demand. */
  holds?: (() => readonly string[]) | undefined;
}

/** Names of variables that hold a secret, as a pattern. */
export const SECRET_NAME =
  '(?:SECRET|(?<!NEXT_?|PAGE_?|CONTINUATION_?|CANCELLATION_?)TOKEN|PASSWORD|PASSWD|PASSPHRASE|(?:_|SSH)PASS|_PWD|_PAT|API_?KEY|SECRET_KEY_BASE|' +
  '(?:PRIVATE|ACCESS|SECRET|ENCRYPTION|MASTER|SIGNING|SESSION|SERVICE|SERVICE_ROLE|AUTH|HMAC|LICENSE|STORAGE|SHARED|ACCOUNT|DEPLOY|SSH|JWT|APP|FERNET|ADMIN|STRIPE|OPENAI)_KEY|' +
  'CREDENTIALS?)$';
