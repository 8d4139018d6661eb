import type { Field, SubjectKind } from '../../event/risk-words.ts';

/** One thing that an action does, in the words that rules use. */
export interface Subject {
  on: SubjectKind;
  fields: { readonly [field in Field]?: readonly string[] };
  /** What kinds of places a command names, where that is asked: few rules do. */
  places?: (() => readonly string[]) | undefined;
  /** What a text holds, likewise. */
  holds?: (() => readonly string[]) | undefined;
}

/** Names of variables that hold a secret, as a pattern. */
export const SECRET_NAME =
  '(?:SECRET|(?<!NEXT_?|PAGE_?|CONTINUATION_?|CANCELLATION_?)TOKEN|PASSWORD|PASSWD|PASSPHRASE|(?:_|SSH)PASS|_PWD|_PAT|API_?KEY|SECRET_KEY_BASE|' +
  '(?:PRIVATE|ACCESS|SECRET|ENCRYPTION|MASTER|SIGNING|SESSION|SERVICE|SERVICE_ROLE|AUTH|HMAC|LICENSE|STORAGE|SHARED|ACCOUNT|DEPLOY|SSH|JWT|APP|FERNET|ADMIN|STRIPE|OPENAI)_KEY|' +
  'CREDENTIALS?)$';
