/**
 * Secrets in texts: what kinds there are, and a text without them. One table for both who looks for secrets: risk, which says that an
 * action holds one, and redaction, which takes it out of what may stay.
 */

export interface SecretKind {
  readonly id: string;
  readonly what: string;
  /** A text without all of these holds none: looked for first, since they are found faster than a pattern. */
  readonly hints: readonly string[];
  /** What is taken out. Bounded, so that no text makes it slow. */
  readonly pattern: string;
  /** How one looks: `{X16}` stands for 16 characters of a class (samplesOf). No whole one stands in the source, or scanners cry. */
  readonly like: string;
}

export const secretKinds: readonly SecretKind[] = [
  // Before all that could be part of it.
  {
    id: 'private-key',
    what: 'private key (PEM, OpenSSH, PGP)',
    hints: ['PRIVATE KEY'],
    pattern:
      '-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\s|\\\\[nr])*[A-Za-z0-9+\\/](?:[^-]|-(?!----END)){0,20000}(?:-----END [A-Z0-9 ]{0,40}-----)?',
    like: '-----BEGIN RSA PRIVATE KEY-----\n{w64}\n-----END RSA PRIVATE KEY-----',
  },
  {
    id: 'putty-key',
    what: 'private key of PuTTY',
    hints: ['Private-Lines:'],
    pattern:
      '\\bPrivate-Lines: \\d{1,4}(?:\\s|\\\\[nr])+(?:[A-Za-z0-9+\\/=]{40,64}(?:\\s|\\\\[nr])*){1,100}(?:[A-Za-z0-9+\\/]{1,63}={1,2})?',
    like: 'Private-Lines: 2\n{w64}\n',
  },
  {
    id: 'age-key',
    what: 'key of age',
    hints: ['AGE-SECRET-KEY-1'],
    pattern: '\\bAGE-SECRET-KEY-1[A-Z0-9]{50,60}',
    like: 'AGE-SECRET-KEY-1{X58}',
  },
  {
    id: 'mapbox',
    what: 'secret token of Mapbox',
    hints: ['sk.eyJ'],
    pattern: '\\bsk\\.eyJ[A-Za-z0-9_-]{20,300}\\.[A-Za-z0-9_-]{20,60}',
    like: 'sk.eyJ{w80}.{w22}',
  },
  {
    id: 'signed-token',
    what: 'signed token (JWT)',
    hints: ['eyJ'],
    pattern: '\\beyJ[A-Za-z0-9_-]{10,500}\\.[A-Za-z0-9_-]{10,2000}\\.[A-Za-z0-9_-]{10,2000}',
    like: 'eyJ{w20}.eyJ{w40}.{w43}',
  },
  {
    id: 'aws',
    what: 'access key of AWS',
    hints: ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
    pattern: '\\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\\b',
    like: 'AKIA{X16}',
  },
  {
    id: 'azure-storage',
    what: 'key of an Azure storage account',
    hints: ['AccountKey=', 'SharedAccessKey='],
    pattern: '\\b(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+\\/]{40,90}={0,2}',
    like: 'AccountKey={w86}==',
  },
  {
    id: 'azure-signature',
    what: 'signature of an Azure address',
    hints: ['sig='],
    pattern: '(?<=[?&]sig=)[A-Za-z0-9%]{40,120}',
    like: '?sv=1&sig={w44}%3D',
  },
  {
    id: 'google-api',
    what: 'API key of Google',
    hints: ['AIza'],
    pattern: '\\bAIza[A-Za-z0-9_-]{35}',
    like: 'AIza{w35}',
  },
  {
    id: 'google-oauth',
    what: 'access token of Google',
    hints: ['ya29.'],
    pattern: '\\bya29\\.[A-Za-z0-9_-]{20,500}',
    like: 'ya29.{w60}',
  },
  {
    id: 'google-client',
    what: 'client secret of Google',
    hints: ['GOCSPX-'],
    pattern: '\\bGOCSPX-[A-Za-z0-9_-]{20,40}',
    like: 'GOCSPX-{w28}',
  },
  {
    id: 'digitalocean',
    what: 'token of DigitalOcean',
    hints: ['_v1_'],
    pattern: '\\bdo[opr]_v1_[a-f0-9]{64}',
    like: 'dop_v1_{h64}',
  },
  {
    id: 'heroku',
    what: 'token of Heroku',
    hints: ['HRKU-'],
    pattern: '\\bHRKU-[A-Za-z0-9_-]{30,80}',
    like: 'HRKU-{w60}',
  },
  {
    id: 'fly',
    what: 'token of Fly.io',
    hints: ['fm2_', 'fm1r_', 'fm1a_'],
    pattern: '\\bfm(?:2|1[ar])_[A-Za-z0-9+\\/=]{40,2000}',
    like: 'fm2_{w100}',
  },
  {
    id: 'cloudflare-origin',
    what: 'origin key of Cloudflare',
    hints: ['v1.0-'],
    pattern: '\\bv1\\.0-[a-f0-9]{24}-[a-f0-9]{140,150}',
    like: 'v1.0-{h24}-{h146}',
  },
  { id: 'databricks', what: 'token of Databricks', hints: ['dapi'], pattern: '\\bdapi[a-f0-9]{32}', like: 'dapi{h32}' },
  {
    id: 'supabase',
    what: 'token of Supabase',
    hints: ['sbp_', 'sb_secret_'],
    pattern: '\\b(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,60})',
    like: 'sbp_{h40}',
  },
  {
    id: 'planetscale',
    what: 'password or token of PlanetScale',
    hints: ['pscale_'],
    pattern: '\\bpscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.-]{30,64}',
    like: 'pscale_tkn_{w43}',
  },
  {
    id: 'vault',
    what: 'token of Vault',
    hints: ['hvs.', 'hvb.', 'hvr.'],
    pattern: '\\bhv[bsr]\\.[A-Za-z0-9_-]{24,300}',
    like: 'hvs.{w40}',
  },
  {
    id: 'terraform',
    what: 'token of Terraform Cloud',
    hints: ['.atlasv1.'],
    pattern: '\\b[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_-]{60,80}',
    like: '{w14}.atlasv1.{w67}',
  },
  {
    id: 'doppler',
    what: 'token of Doppler',
    hints: ['dp.'],
    pattern: '\\bdp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9._-]{40,80}',
    like: 'dp.pt.{w43}',
  },
  {
    id: '1password',
    what: 'service account of 1Password',
    hints: ['ops_eyJ'],
    pattern: '\\bops_eyJ[A-Za-z0-9+\\/=_-]{100,2000}',
    like: 'ops_eyJ{w250}',
  },
  {
    id: 'github',
    what: 'token of GitHub',
    hints: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    pattern: '\\bgh[pousr]_[A-Za-z0-9]{30,255}',
    like: 'ghp_{w36}',
  },
  {
    id: 'github-fine',
    what: 'fine-grained token of GitHub',
    hints: ['github_pat_'],
    pattern: '\\bgithub_pat_[A-Za-z0-9_]{40,255}',
    like: 'github_pat_{w22}_{w59}',
  },
  {
    id: 'gitlab',
    what: 'token of GitLab',
    hints: ['glpat-', 'gldt-', 'glrt-', 'glcbt-', 'glptt-', 'glft-', 'glsoat-', 'glagent-', 'gloas-'],
    pattern: '\\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[A-Za-z0-9_.-]{20,300}',
    like: 'glpat-{w20}',
  },
  {
    id: 'bitbucket',
    what: 'token of Atlassian or Bitbucket',
    hints: ['ATATT3x', 'ATBB', 'ATCTT3x'],
    pattern: '\\b(?:ATATT3x|ATCTT3x|ATBB)[A-Za-z0-9_=-]{28,300}',
    like: 'ATATT3x{w180}',
  },
  { id: 'npm', what: 'token of npm', hints: ['npm_'], pattern: '\\bnpm_[A-Za-z0-9]{30,80}', like: 'npm_{w36}' },
  {
    id: 'pypi',
    what: 'token of PyPI',
    hints: ['pypi-'],
    pattern: '\\bpypi-[A-Za-z0-9_-]{40,300}',
    like: 'pypi-{w160}',
  },
  {
    id: 'rubygems',
    what: 'key of RubyGems',
    hints: ['rubygems_'],
    pattern: '\\brubygems_[a-f0-9]{48}',
    like: 'rubygems_{h48}',
  },
  { id: 'crates', what: 'token of crates.io', hints: ['cio'], pattern: '\\bcio[A-Za-z0-9]{32}\\b', like: 'cio{w32}' },
  {
    id: 'docker',
    what: 'token of Docker Hub',
    hints: ['dckr_'],
    pattern: '\\bdckr_[op]at_[A-Za-z0-9_-]{20,60}',
    like: 'dckr_pat_{w27}',
  },
  {
    id: 'anthropic',
    what: 'API key of Anthropic',
    hints: ['sk-ant-'],
    pattern: '\\bsk-ant-[A-Za-z0-9_-]{24,200}',
    like: 'sk-ant-api03-{w93}AA',
  },
  {
    id: 'langfuse',
    what: 'secret key of Langfuse',
    hints: ['sk-lf-'],
    pattern: '\\bsk-lf-[a-f0-9-]{36}',
    like: 'sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}',
  },
  {
    id: 'openai',
    what: 'API key of OpenAI, OpenRouter and those alike',
    hints: ['sk-'],
    pattern: '\\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{24,300}',
    like: 'sk-proj-{w48}',
  },
  { id: 'xai', what: 'API key of xAI', hints: ['xai-'], pattern: '\\bxai-[A-Za-z0-9]{40,120}', like: 'xai-{w80}' },
  { id: 'groq', what: 'API key of Groq', hints: ['gsk_'], pattern: '\\bgsk_[A-Za-z0-9]{40,80}', like: 'gsk_{w52}' },
  {
    id: 'perplexity',
    what: 'API key of Perplexity',
    hints: ['pplx-'],
    pattern: '\\bpplx-[A-Za-z0-9]{40,80}',
    like: 'pplx-{w48}',
  },
  {
    id: 'replicate',
    what: 'token of Replicate',
    hints: ['r8_'],
    pattern: '\\br8_[A-Za-z0-9]{37}\\b',
    like: 'r8_{w37}',
  },
  {
    id: 'huggingface',
    what: 'token of Hugging Face',
    hints: ['hf_'],
    pattern: '\\bhf_[A-Za-z0-9]{30,60}',
    like: 'hf_{w34}',
  },
  {
    id: 'langsmith',
    what: 'key of LangSmith',
    hints: ['lsv2_'],
    pattern: '\\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}',
    like: 'lsv2_pt_{h32}_{h10}',
  },
  {
    id: 'slack',
    what: 'token of Slack',
    hints: ['xox', 'xapp-'],
    pattern: '\\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{20,300}',
    like: 'xoxb-{d12}-{d12}-{w24}',
  },
  {
    id: 'slack-webhook',
    what: 'webhook of Slack',
    hints: ['hooks.slack.com'],
    pattern:
      '\\bhttps:\\/\\/hooks\\.slack\\.com\\/(?:services|workflows|triggers)\\/[A-Z0-9]{5,20}\\/[A-Z0-9]{5,20}\\/[A-Za-z0-9]{20,80}',
    like: 'https://hooks.slack.com/services/T{X10}/B{X10}/{w24}',
  },
  {
    id: 'discord-webhook',
    what: 'webhook of Discord',
    hints: ['/api/webhooks/'],
    pattern:
      '\\bhttps:\\/\\/(?:ptb\\.|canary\\.)?discord(?:app)?\\.com\\/api\\/webhooks\\/\\d{15,22}\\/[A-Za-z0-9_-]{50,80}',
    like: 'https://discord.com/api/webhooks/{d18}/{w68}',
  },
  {
    id: 'teams-webhook',
    what: 'webhook of Microsoft Teams',
    hints: ['.webhook.office.com/'],
    pattern: '\\bhttps:\\/\\/[a-z0-9-]{1,60}\\.webhook\\.office\\.com\\/webhookb2\\/[A-Za-z0-9@\\/-]{60,250}',
    like: 'https://acme.webhook.office.com/webhookb2/{h36}@{h36}/IncomingWebhook/{h32}/{h36}',
  },
  {
    id: 'telegram',
    what: 'token of a Telegram bot',
    hints: [':AA'],
    pattern: '\\b\\d{8,10}:AA[A-Za-z0-9_-]{33}',
    like: '{d10}:AA{w33}',
  },
  { id: 'twilio', what: 'API key of Twilio', hints: ['SK'], pattern: '\\bSK[a-f0-9]{32}\\b', like: 'SK{h32}' },
  {
    id: 'sendgrid',
    what: 'API key of SendGrid',
    hints: ['SG.'],
    pattern: '\\bSG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}',
    like: 'SG.{w22}.{w43}',
  },
  { id: 'mailgun', what: 'key of Mailgun', hints: ['key-'], pattern: '\\bkey-[a-f0-9]{32}\\b', like: 'key-{h32}' },
  {
    id: 'mailchimp',
    what: 'key of Mailchimp',
    hints: ['-us'],
    pattern: '\\b[a-f0-9]{32}-us\\d{1,2}\\b',
    like: '{h32}-us12',
  },
  {
    id: 'stripe',
    what: 'key of Stripe',
    hints: ['k_live_', 'k_test_', 'whsec_'],
    pattern: '\\b(?:[rs]k_(?:live|test)_[A-Za-z0-9]{20,120}|whsec_[A-Za-z0-9+\\/]{30,60})',
    like: 'sk_live_{w24}',
  },
  {
    id: 'square',
    what: 'token of Square',
    hints: ['sq0'],
    pattern: '\\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,50}',
    like: 'sq0csp-{w43}',
  },
  {
    id: 'shopify',
    what: 'token of Shopify',
    hints: ['shpat_', 'shpca_', 'shppa_', 'shpss_'],
    pattern: '\\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}',
    like: 'shpat_{h32}',
  },
  {
    id: 'grafana',
    what: 'token of Grafana',
    hints: ['glsa_', 'glc_eyJ'],
    pattern: '\\b(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_eyJ[A-Za-z0-9+\\/=]{30,400})',
    like: 'glsa_{w32}_{h8}',
  },
  {
    id: 'new-relic',
    what: 'key of New Relic',
    hints: ['NRAK-', 'NRII-', 'NRRA-', 'FFFFNRAL'],
    pattern: '\\b(?:NR(?:AK|II|RA)-[A-Za-z0-9_-]{25,42}|[a-f0-9]{32,36}FFFFNRAL)',
    like: 'NRAK-{X27}',
  },
  {
    id: 'dynatrace',
    what: 'token of Dynatrace',
    hints: ['dt0'],
    pattern: '\\bdt0[a-z]\\d{2}\\.[A-Z0-9]{8,24}\\.[A-Z0-9]{64}',
    like: 'dt0c01.{X24}.{X64}',
  },
  {
    id: 'honeycomb',
    what: 'ingest key of Honeycomb',
    hints: ['hc'],
    pattern: '\\bhc[a-z][il][ck]_[a-z0-9]{58}\\b',
    like: 'hcaik_{h58}',
  },
  {
    id: 'sentry',
    what: 'token of Sentry',
    hints: ['sntry'],
    pattern: '\\bsntry[su]_[A-Za-z0-9+\\/=_-]{40,400}',
    like: 'sntryu_{h64}',
  },
  {
    id: 'axiom',
    what: 'token of Axiom',
    hints: ['xaat-', 'xapt-'],
    pattern: '\\bxa[ap]t-[a-f0-9-]{36}',
    like: 'xaat-{h8}-{h4}-{h4}-{h4}-{h12}',
  },
  {
    id: 'linear',
    what: 'API key of Linear',
    hints: ['lin_'],
    pattern: '\\blin_(?:api|oauth)_[A-Za-z0-9]{40,64}',
    like: 'lin_api_{w40}',
  },
  {
    id: 'notion',
    what: 'token of Notion',
    hints: ['ntn_', 'secret_'],
    pattern: '\\b(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})\\b',
    like: 'ntn_{w46}',
  },
  {
    id: 'airtable',
    what: 'token of Airtable',
    hints: ['pat'],
    pattern: '\\bpat[A-Za-z0-9]{14}\\.[a-f0-9]{64}',
    like: 'pat{w14}.{h64}',
  },
  {
    id: 'postman',
    what: 'API key of Postman',
    hints: ['PMAK-'],
    pattern: '\\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}',
    like: 'PMAK-{h24}-{h34}',
  },
  {
    id: 'figma',
    what: 'token of Figma',
    hints: ['figd_'],
    pattern: '\\bfigd_[A-Za-z0-9_-]{36,60}',
    like: 'figd_{w40}',
  },
  {
    id: 'azure-client',
    what: 'client secret of Azure',
    hints: ['8Q~', '7Q~', '9Q~'],
    pattern: '(?<![\\w~.-])[A-Za-z0-9_~.-]{3}[789]Q~[A-Za-z0-9_~.-]{30,36}',
    like: '{w3}8Q~{w34}',
  },
  {
    id: 'netlify',
    what: 'token of Netlify',
    hints: ['nfp_', 'nfc_'],
    pattern: '\\bnf[pc]_[A-Za-z0-9]{30,60}',
    like: 'nfp_{w40}',
  },
  {
    id: 'render',
    what: 'key of Render',
    hints: ['rnd_'],
    pattern: '\\brnd_[A-Za-z0-9]{24,40}\\b',
    like: 'rnd_{w28}',
  },
  {
    id: 'pulumi',
    what: 'token of Pulumi',
    hints: ['pul-'],
    pattern: '\\bpul-[a-f0-9]{40}',
    like: 'pul-{h40}',
  },
  {
    id: 'tailscale',
    what: 'key of Tailscale',
    hints: ['tskey-'],
    pattern: '\\btskey-[a-z]{2,12}-[A-Za-z0-9]{10,20}-[A-Za-z0-9]{20,60}',
    like: 'tskey-auth-{w16}-{w32}',
  },
  {
    id: 'openshift',
    what: 'token of OpenShift',
    hints: ['sha256~'],
    pattern: '\\bsha256~[A-Za-z0-9_-]{43}',
    like: 'sha256~{w43}',
  },
  {
    id: 'neon',
    what: 'password of Neon',
    hints: ['npg_'],
    pattern: '\\bnpg_[A-Za-z0-9]{12,40}\\b',
    like: 'npg_{w12}',
  },
  {
    id: 'circleci',
    what: 'token of CircleCI',
    hints: ['CCIPAT_', 'CCIPRJ_'],
    pattern: '\\bCCIP(?:AT|RJ)_[A-Za-z0-9]{16,30}_[a-f0-9]{40}',
    like: 'CCIPAT_{w22}_{h40}',
  },
  {
    id: 'buildkite',
    what: 'token of Buildkite',
    hints: ['bkua_'],
    pattern: '\\bbkua_[a-f0-9]{40}',
    like: 'bkua_{h40}',
  },
  {
    id: 'sonar',
    what: 'token of SonarQube',
    hints: ['sqp_', 'squ_', 'sqa_'],
    pattern: '\\bsq[pua]_[a-f0-9]{40}',
    like: 'sqp_{h40}',
  },
  {
    id: 'sourcegraph',
    what: 'token of Sourcegraph',
    hints: ['sgp_'],
    pattern: '\\bsgp_(?:[A-Za-z0-9]{16}_|local_)?[a-f0-9]{40}',
    like: 'sgp_{h40}',
  },
  {
    id: 'clojars',
    what: 'token of Clojars',
    hints: ['CLOJARS_'],
    pattern: '\\bCLOJARS_[a-z0-9]{60}',
    like: 'CLOJARS_{h60}',
  },
  {
    id: 'jfrog',
    what: 'key of JFrog',
    hints: ['AKCp', 'cmVmdGtu'],
    pattern: '\\b(?:AKCp[A-Za-z0-9]{60,80}|cmVmdGtu[A-Za-z0-9]{50,60})',
    like: 'AKCp{w69}',
  },
  {
    id: 'elevenlabs',
    what: 'key of ElevenLabs',
    hints: ['sk_'],
    pattern: '\\bsk_[a-f0-9]{48}\\b',
    like: 'sk_{h48}',
  },
  {
    id: 'pinecone',
    what: 'key of Pinecone',
    hints: ['pcsk_'],
    pattern: '\\bpcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,64}',
    like: 'pcsk_{w5}_{w63}',
  },
  {
    id: 'resend',
    what: 'key of Resend',
    hints: ['re_'],
    pattern: '\\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\\b',
    like: 're_{w8}_{w24}',
  },
  {
    id: 'brevo',
    what: 'key of Brevo',
    hints: ['xkeysib-'],
    pattern: '\\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}',
    like: 'xkeysib-{h64}-{w16}',
  },
  {
    id: 'plaid',
    what: 'token of Plaid',
    hints: ['access-sandbox-', 'access-development-', 'access-production-'],
    pattern: '\\baccess-(?:sandbox|development|production)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}',
    like: 'access-production-{h8}-{h4}-{h4}-{h4}-{h12}',
  },
  {
    id: 'launchdarkly',
    what: 'key of LaunchDarkly',
    hints: ['sdk-', 'mob-'],
    pattern: '\\b(?:sdk|mob)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}',
    like: 'sdk-{h8}-{h4}-{h4}-{h4}-{h12}',
  },
  {
    id: 'razorpay',
    what: 'key of Razorpay',
    hints: ['rzp_live_', 'rzp_test_'],
    pattern: '\\brzp_(?:live|test)_[A-Za-z0-9]{14}\\b',
    like: 'rzp_live_{w14}',
  },
  {
    id: 'zapier-webhook',
    what: 'webhook of Zapier',
    hints: ['hooks.zapier.com'],
    pattern: '\\bhttps:\\/\\/hooks\\.zapier\\.com\\/hooks\\/catch\\/\\d{4,12}\\/[a-z0-9]{5,20}',
    like: 'https://hooks.zapier.com/hooks/catch/{d7}/{h7}',
  },
  {
    id: 'alibaba',
    what: 'access key of Alibaba Cloud',
    hints: ['LTAI'],
    pattern: '\\bLTAI[A-Za-z0-9]{16,24}\\b',
    like: 'LTAI{w20}',
  },
  {
    id: 'password-hash',
    what: 'hash of a password (crypt, bcrypt, Argon2)',
    hints: ['$1$', '$2a$', '$2b$', '$2y$', '$5$', '$6$', '$y$', '$7$', '$apr1$', '$argon2'],
    pattern: '\\$(?:[15-7y]|2[aby]|apr1|argon2(?:id|i|d))\\$[A-Za-z0-9.\\/+=,$-]{20,400}',
    like: '$6$salt/{w86}',
  },
  {
    id: 'dropbox',
    what: 'access token of Dropbox',
    hints: ['sl.'],
    pattern: '\\bsl\\.(?:u\\.)?[A-Za-z0-9_-]{100,1500}',
    like: 'sl.{w135}',
  },
];

/** Names that say of a value that it is a secret. */
const NAMED =
  '(?:secret|token|passw(?:or[dt]|d)|passphrase|passcode|(?<![a-z])(?:pass|pwd|pw)|_pass|_pwd|api[_-]?key|' +
  '(?:private|access|secret|encryption|master|signing|session|service|auth|hmac|license|storage|shared)[_-]?key|credentials?)';
const GIVEN = '\\s{0,3}(?:=>|:=|[:=])\\s{0,3}';
/** A command up to an option, within its line. */
const WORDS = '(?:[ \\t]+[^\\s|;&]{1,200}){0,20}?';
const NEAR = /secret|token|passw|passphrase|passcode|pass|pwd|\bpw|api.?key|[a-z].?key|credential/i;

/** Kinds that a name, a header or a place gives away rather than the look of the secret; what gives it away stays. */
const told: readonly { id: string; isNear: RegExp; pattern: RegExp }[] = [
  {
    id: 'password',
    isNear: /:\/\//,
    pattern: /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^/:@\s"']{0,128}:)([^/@\s"'$<{][^/@\s"']{2,256})(?=@)/gi,
  },
  {
    id: 'authorization',
    isNear: /authorization|cookie/i,
    pattern:
      /(\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:[a-z]{3,12}\s{1,3})?|\b(?:set-)?cookie["']?:\s{0,3}["']?[^\s"'=;]{1,64}=)([A-Za-z0-9._~+/%-]{8,2000}={0,2})/gi,
  },
  {
    id: 'authorization',
    isNear: /bearer|basic/i,
    pattern: /(\b(?:bearer|basic)\s{0,3})((?=[A-Za-z0-9._~+/-]{0,400}[\d=])[A-Za-z0-9._~+/-]{12,2000}={0,2})/gi,
  },
  {
    id: 'password',
    isNear: / -u|--user/,
    pattern: /(\s(?:-u|--user)[ =]{0,3}["']?[^\s:"']{1,64}:)([^\s"'$<]{4,256})/g,
  },
  {
    id: 'password',
    isNear: /sshpass|mysql|mariadb|login|redis-cli|sudo|openssl|https? /,
    pattern: new RegExp(
      `(\\b(?:sshpass${WORDS}[ \\t]+-p[ \\t]?["']?|(?:mysql\\w{0,12}|mariadb)${WORDS}[ \\t]+-p["']?|(?:docker|podman|helm|buildah|skopeo|oc|az|cf)` +
        `${WORDS}[ \\t]+login${WORDS}[ \\t]+-p[ =]["']?|redis-cli${WORDS}[ \\t]+-a[ \\t]+["']?|https?${WORDS}[ \\t]+-a[ \\t]+["']?[^\\s:"']{1,64}:|` +
        `openssl${WORDS}[ \\t]+-pass(?:in|out)?[ \\t]+["']?pass:))([^\\s"'$<-][^\\s"'$<]{2,255})`,
      'g',
    ),
  },
  {
    id: 'password',
    isNear: /sudo/,
    pattern: /(\becho\s{1,3}["']?)([^\s"'|$<]{3,256})(?=["']?\s{0,3}\|\s{0,3}sudo\s[^\n|]{0,40}-S)/g,
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(`(${NAMED}["'\\]]{0,2}${GIVEN}")((?:[^"\\\\\\n]|\\\\[^\\n]){4,512})(?=")`, 'gi'),
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(`(${NAMED}["'\\]]{0,2}${GIVEN}')([^'\\n]{4,512})(?=')`, 'gi'),
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(`(${NAMED}\\\\"${GIVEN}\\\\")((?:[^"\\\\\\n]|\\\\(?!"))[^"\\\\\\n]{3,512})(?=\\\\")`, 'gi'),
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(`(<[\\w:.-]{0,40}${NAMED}>|${NAMED}["'] value=["'])([^<>"'\\n]{4,256})(?=["']|<\\/)`, 'gi'),
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(
      `(${NAMED}["'\\]]{0,2}(?:${GIVEN}|(?<!pass|pwd|pw|credentials?)\\s{1,3}(?=\\S{0,64}[\\d!@#%^&*]))["']?)` +
        `([^\\s"'\`,;&<>(){}]{6,512})(?![^\\s"'\`,;&<>){}])`,
      'gi',
    ),
  },
  // Of an option any word, and of a variable all up to the next blank.
  {
    id: 'secret',
    isNear: /--/,
    pattern: new RegExp(
      `([ \\t]--(?:[a-z]{1,16}-){0,2}${NAMED}(?:[ \\t]+|=)["']?)([^\\s"'$<-][^\\s"'$<]{3,511})`,
      'gi',
    ),
  },
  {
    id: 'secret',
    isNear: /[A-Z]=/,
    pattern:
      /(\b(?:[A-Z][A-Z0-9]{0,30}_){0,6}(?:[A-Z0-9]{0,16}(?:SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE)|(?:SSH)?PASS|PWD|API_?KEY|CREDENTIALS?|PAT|PIN)=["']?)([^\s"'`|]{3,512})/g,
  },
  // `.pgpass`, and what container registries and npm call `auth`.
  {
    id: 'password',
    isNear: /:\d{4,5}:|:\*:/,
    pattern: /((?:^|\n)[\w.*-]{1,128}:(?:\d{4,5}|\*):[\w*-]{1,64}:[\w*.-]{1,64}:)(\S{3,128})(?=\s|$)/g,
  },
  {
    id: 'secret',
    isNear: /auth/,
    pattern: /((?:["']auth["']\s{0,3}:\s{0,3}["']|\b_auth\s{0,3}=\s{0,3}["']?))([A-Za-z0-9+/]{12,512}={0,2})/g,
  },
];

/** What stands where a secret would: nothing is lost by showing it. */
const HARMLESS =
  /^(?:[$*[%<{]|\d{1,12}$|[\w.]{0,40}(?:env|config|settings|options|args|self|this|req|request)\.|(?:string|number|boolean|null|undefined|true|false|none|str|bytes|optional|required|your|my|example|changeme|placeholder|dummy|fake|xxx)\b|\.\.\.)/i;

const EMAIL = /\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}\b/g;
const HOME = /(?:\/(?:home|Users)\/|\b[A-Za-z]:\\{1,2}Users\\{1,2})[^/\\\s"'`:;,<>|]{1,64}/g;

/** What people add: more that goes, and what stays although it looks like a secret. */
export interface OwnSecrets {
  /** Places of what else is to go. */
  find(text: string): readonly (readonly [from: number, to: number])[];
  isAllowed(secret: string): boolean;
}

const compiled = secretKinds.map(({ id, hints, pattern }) => ({ id, hints, pattern: new RegExp(pattern, 'g') }));

/** The text without secrets, e-mail addresses and names of home folders. What went says of which kind it was. */
export function withoutSecrets(text: string, own?: OwnSecrets): string {
  const gone =
    (id: string) =>
    (secret: string): string =>
      own?.isAllowed(secret) ? secret : `[redacted:${id}]`;
  let left = own === undefined ? text : withoutOwn(text, own);
  for (const { id, hints, pattern } of compiled) {
    if (hints.some(hint => left.includes(hint))) left = left.replace(pattern, gone(id));
  }
  let near: RegExp | undefined;
  let isThere = false;
  for (const { id, isNear, pattern } of told) {
    // Neighbours have one in common, which is looked for once.
    if (isNear !== near) isThere = isNear.test(left);
    near = isNear;
    if (!isThere) continue;
    left = left.replace(pattern, (all, before: string, secret: string) =>
      HARMLESS.test(secret) ? all : before + gone(id)(secret),
    );
  }
  if (left.includes('@')) left = left.replace(EMAIL, gone('email'));
  left = left.replace(HOME, '~');
  left = left.replace(WITH_SLASHES, token => (isRandom(token) ? gone('random')(token) : token));
  return left.replace(LONG, token => (isRandom(token) ? gone('random')(token) : token));
}

/** Of a field: its name may say that all of it is a secret. */
export const withoutSecretsOf = (name: string | undefined, text: string, own?: OwnSecrets): string =>
  name !== undefined && SECRET_FIELD.test(name) && text.length >= 4 && !HARMLESS.test(text) && !own?.isAllowed(text)
    ? '[redacted:secret]'
    : withoutSecrets(text, own);

const SECRET_FIELD =
  /(?:secret|token|passw(?:or[dt]|d)|passphrase|passcode|(?:^|_)(?:pass|pwd|pw)|api[_-]?key|(?:private|access|secret|encryption|master|signing|session|service|auth|hmac)[_-]?key|credentials?|authorization|cookie)$/i;

/** Whether one of a known kind stands in it. Most texts are short, and need no look. */
export const holdsSecret = (text: string): boolean =>
  text.length >= SHORTEST &&
  compiled.some(({ hints, pattern }) => hints.some(hint => text.includes(hint)) && text.search(pattern) >= 0);

const SHORTEST = 16;

function withoutOwn(text: string, own: OwnSecrets): string {
  let left = '';
  let at = 0;
  for (const [from, to] of own.find(text)) {
    if (from < at || to <= from || own.isAllowed(text.slice(from, to))) continue;
    left += `${text.slice(at, from)}[redacted:own]`;
    at = to;
  }
  return left + text.slice(at);
}

const LONG = /[A-Za-z0-9+_=-]{24,}/g;
/** As long as a secret key of AWS, in whose alphabet a slash is a digit. */
const WITH_SLASHES = /(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_.-])/g;
const LONGEST_MEASURED = 512;
const SMALL = 0;
const LARGE = 1;
const DIGIT = 2;
const OTHER = 3;
/** Digests, commits and UUIDs name things; they open nothing. */
const NAMES_A_THING =
  /^(?:[a-f0-9]{24,40}|[a-f0-9]{56}|[a-f0-9]{64}|[a-f0-9]{96}|[a-f0-9]{128}|[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12})$/i;

/** Words go over to digits and to large letters now and then; what was drawn by lot does so all the time. */
function isRandom(token: string): boolean {
  if (NAMES_A_THING.test(token)) return false;
  const length = Math.min(token.length, LONGEST_MEASURED);
  const counts = new Map<number, number>();
  let changes = 0;
  let digits = 0;
  let before = OTHER;
  for (let at = 0; at < length; at += 1) {
    const code = token.charCodeAt(at);
    const kind = code >= 97 ? SMALL : code >= 65 && code <= 90 ? LARGE : code >= 48 && code <= 57 ? DIGIT : OTHER;
    if (kind === DIGIT) digits += 1;
    const isHump = before === LARGE && kind === SMALL;
    if (kind !== OTHER && before !== OTHER && kind !== before && !isHump) changes += 1;
    if (kind !== OTHER) before = kind;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  if (digits === 0 || changes / length < 0.3) return false;
  let bits = 0;
  for (const count of counts.values()) bits -= (count / length) * Math.log2(count / length);
  return bits >= 3.6;
}
