export interface TokenFormat {
  readonly name: string
  /** The pattern is tried only if the text contains one of these. */
  readonly hints: readonly string[]
  /** Global; with bounded repetitions only, so that no text makes it slow. */
  readonly pattern: RegExp
}

/** What colours a terminal's text; its last letter is no part of the word after it. */
const ANSI = String.raw`\x1b\[[0-9;]{0,20}m`

/** Not inside a longer word. The letter of an escape such as `\\n` is not part of a word. */
const ALONE = String.raw`(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf0])|(?<=\\u[0-9a-fA-F]{4})|(?<=${ANSI}))`
const alone = (source: string): RegExp => new RegExp(`${ALONE}(?:${source})(?![A-Za-z0-9])`, 'g')

const format = (name: string, hints: string | readonly string[], source: string): TokenFormat => ({
  name,
  hints: typeof hints === 'string' ? [hints] : hints,
  pattern: alone(source),
})

const W = '[A-Za-z0-9]'
const WD = '[A-Za-z0-9_-]'
const HEX = '[0-9a-f]'

/** Published token forms of vendors. Tokens without a distinct form are found by label or by value. */
export const TOKEN_FORMATS: readonly TokenFormat[] = [
  format('aws-access-key', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], 'A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}'),
  format('github-token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], `gh[pousr]_${W}{36,255}`),
  format('github-fine-grained-token', 'github_pat_', `github_pat_[A-Za-z0-9_]{22,255}`),
  format('gitlab-token', 'gl', `gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-${WD}{20,255}`),
  format('slack-token', 'xox', `xox[abeoprs]-[A-Za-z0-9-]{10,255}`),
  format('slack-app-token', 'xapp-', `xapp-[A-Za-z0-9-]{10,255}`),
  format(
    'slack-webhook',
    'hooks.slack.com',
    `https://hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{20,200}`,
  ),
  format(
    'discord-webhook',
    '/webhooks/',
    `https://(?:ptb\\.|canary\\.)?discord(?:app)?\\.com/api/webhooks/\\d{15,20}/${WD}{40,120}`,
  ),
  format('discord-bot-token', '.', `[MNO]${WD}{22,27}\\.${WD}{6}\\.${WD}{27,40}`),
  format('anthropic-key', 'sk-ant-', `sk-ant-${WD}{20,255}`),
  format('openrouter-key', 'sk-or-', `sk-or-(?:v1-)?${WD}{32,128}`),
  format('openai-key', 'sk-', `sk-(?:proj-|svcacct-|admin-|None-)?${WD}{32,255}`),
  format('google-api-key', 'AIza', `AIza${WD}{35}`),
  format('google-oauth-token', 'ya29.', `ya29\\.${WD}{20,500}`),
  format('google-client-secret', 'GOCSPX-', `GOCSPX-${WD}{28}`),
  format('stripe-key', ['_live_', '_test_'], `(?:sk|rk|pk)_(?:live|test)_${W}{16,255}`),
  format('webhook-secret', 'whsec_', `whsec_[A-Za-z0-9+/=]{24,255}`),
  format('twilio-key', 'SK', `SK${HEX}{32}`),
  format('sendgrid-key', 'SG.', `SG\\.${WD}{16,32}\\.${WD}{16,64}`),
  format('mailgun-key', 'key-', `key-${HEX}{32}`),
  format('mailchimp-key', '-us', `${HEX}{32}-us\\d{1,2}`),
  format('npm-token', 'npm_', `npm_${W}{36}`),
  format('pypi-token', 'pypi-', `pypi-AgE${WD}{40,500}`),
  format('rubygems-key', 'rubygems_', `rubygems_${HEX}{48}`),
  format('crates-token', 'cio', `cio${W}{32}`),
  format('docker-token', 'dckr_', `dckr_(?:pat|oat)_${WD}{20,100}`),
  format('hugging-face-token', 'hf_', `hf_${W}{30,60}`),
  format('replicate-token', 'r8_', `r8_${W}{30,60}`),
  format('groq-key', 'gsk_', `gsk_${W}{40,80}`),
  format('perplexity-key', 'pplx-', `pplx-${W}{32,80}`),
  format('xai-key', 'xai-', `xai-${W}{60,120}`),
  format('digitalocean-token', '_v1_', `do[opr]_v1_${HEX}{64}`),
  format('heroku-key', 'HRKU-', `HRKU-${WD}{36,80}`),
  format('shopify-token', 'shp', `shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}`),
  format('square-token', 'sq0', `sq0(?:atp|csp|idp)-${WD}{22,60}`),
  format('telegram-bot-token', ':AA', `\\d{8,10}:AA${WD}{33}`),
  format(
    'atlassian-token',
    ['ATATT3', 'ATCTT3', 'ATBB'],
    `(?:AT[AC]TT3${WD}{50,300}(?:=[0-9A-F]{8})?|ATBB${W}{24,60})`,
  ),
  format('linear-key', 'lin_', `lin_(?:api|oauth)_${W}{32,64}`),
  format('notion-token', ['ntn_', 'secret_'], `(?:ntn_${W}{40,60}|secret_${W}{43})`),
  format('airtable-token', 'pat', `pat${W}{14}\\.${HEX}{64}`),
  format('figma-token', 'fig', `fig[dour]_${WD}{38,80}`),
  format('databricks-token', 'dapi', `dapi${HEX}{32}(?:-\\d)?`),
  format('vault-token', 'hv', `hv[sbr]\\.${WD}{24,255}`),
  format('terraform-token', '.atlasv1.', `${W}{14}\\.atlasv1\\.${WD}{60,80}`),
  format('grafana-token', ['glc_', 'glsa_'], `(?:glc_[A-Za-z0-9+/=]{32,400}|glsa_${W}{32}_[0-9a-fA-F]{8})`),
  format('newrelic-key', 'NRAK-', `NRAK-[A-Z0-9]{27}`),
  format('sentry-token', 'sntry', `sntry[su]_[A-Za-z0-9+/=_-]{40,400}`),
  format('postman-key', 'PMAK-', `PMAK-${HEX}{24}-${HEX}{34}`),
  format('planetscale-token', 'pscale_', `pscale_(?:tkn|pw|oauth)_${WD}{32,64}`),
  format('supabase-token', ['sbp_', 'sb_secret_'], `(?:sbp_${HEX}{40}|sb_secret_${WD}{20,60})`),
  format('doppler-token', 'dp.', `dp\\.(?:pt|st|ct|sa|scim|audit)\\.${WD}{40,60}`),
  format('pulumi-token', 'pul-', `pul-${HEX}{40}`),
  format('langsmith-key', 'lsv2_', `lsv2_(?:pt|sk)_${HEX}{32}_${HEX}{10}`),
  format('netlify-token', 'nfp_', `nfp_${W}{36,60}`),
  format('fly-token', 'fm', `fm[12][ar]?_[A-Za-z0-9+/=_-]{40,800}`),
  format('onepassword-token', 'ops_', `ops_eyJ${WD}{100,2000}`),
  format('alibaba-key', 'LTAI', `LTAI${W}{16,24}`),
  format('cloudflare-origin-key', 'v1.0-', `v1\\.0-${HEX}{24}-${HEX}{146}`),
  // What `base64` makes of the first line of a private key: of its kinds, not of certificates.
  format(
    'private-key',
    'LS0tLS1CRUdJTi',
    `LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFWS|B(?:SU0E|EU0E|QR1A)gUFJJVkFURSBLRVk|BFQyBQUklWQVRFIEtFWS|BPUEVOU1NIIFBSSVZBVEUgS0VZ|BFTkNSWVBURUQgUFJJVkFURSBLRVk)[A-Za-z0-9+/=]{0,20000}`,
  ),
  format(
    'password-hash',
    ['$apr1$', '$1$', '$2', '$5$', '$6$', '$7$', '$y$', '$gy$', '$argon2'],
    `\\$(?:apr1|1|2[abxy]|[567]|g?y|argon2(?:id?|d))\\$[A-Za-z0-9./$=,+]{20,400}`,
  ),
  format('age-key', 'AGE-SECRET-KEY-', `AGE-SECRET-KEY-1[0-9A-Z]{58}`),
  {
    name: 'jwt',
    hints: ['eyJ'],
    // Not after a dash: a long run of `eyJ-` would be scanned again from each of them.
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}/g,
  },
]

/** Secrets that are recognised by the text around them. The first group is the label, which stays; the second is the secret. */
export interface LabelledSecret {
  readonly name: string
  readonly pattern: RegExp
}

/** Not redacted already. */
const NEW = '(?!\\[redacted:)'
const SEPARATOR = `\\\\?["']?(?:${ANSI})?\\s{0,3}(?::=|=>|:|=)\\s{0,3}(?:${ANSI})?\\\\?["']?`
/** Names of settings that are secrets, in any case of letters. */
const SECRET_WORD =
  'pass(?:word|wd|phrase)|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?secret|credentials?'
/** The same where case must count for what follows, and the word for a password in other languages. */
const CASED_WORD =
  '[Pp]ass(?:word|wd|phrase)|PASSWORD|[Ss]ecret|SECRET|[Tt]oken|TOKEN|[Aa]pi[-_]?[Kk]ey|API[-_]?KEY|[Aa]ccess[-_]?[Kk]ey'
const PASSWORD_ABROAD =
  '[Pp]asswort|PASSWORT|[Kk]ennwort|KENNWORT|[Cc]ontrase(?:ñ|n)a|CONTRASEÑA|[Mm]ot de passe|[Mm]ot_?[Dd]e_?[Pp]asse|[Ss]enha|SENHA|[Ww]achtwoord|[Hh]as(?:ł|l)o|[Ll](?:ö|o)senord|[Ss]alasana|[Pp]assord|[Aa]dgangskode|[Hh]eslo|[Jj]elsz(?:ó|o)|[Pp]arola|[Şş]ifre|[Пп]ароль|ПАРОЛЬ|[Мм](?:ậ|a)t kh(?:ẩ|a)u|密码|密碼|口令|パスワード|비밀번호'

/** Words that follow `password:` in code, schemas and forms and are not passwords. */
const NO_PASSWORD =
  'string|str|text|varchar|bytes|number|boolean|bool|null|nil|none|undefined|true|false|any|unknown|object|required|optional|password|passwd|passphrase|secret|secretstr|field|input|hidden|self|this|props|state|form|data|user|config|settings|options|params|process|env|os|ref|value|function|async|await|new'

/** The start of a command and one character of its arguments, which must not start another command. */
const command = (names: string): string => {
  const start = `(?<!\\w)(?:${names})\\s`
  return `${start}(?:(?!${start})[^\\n])`
}

export const LABELLED_SECRETS: readonly LabelledSecret[] = [
  {
    name: 'url-password',
    pattern: new RegExp(`([a-z][a-z0-9+.-]{1,20}://[^\\s:@/"'\\\\]{0,100}:)${NEW}([^\\s@/"'\\\\]{3,200})(?=@)`, 'gi'),
  },
  {
    name: 'url-parameter',
    pattern: new RegExp(
      `([?&](?:access_token|refresh_token|id_token|auth_token|token|api_?key|key|sig|signature|password|passwd|secret|client_secret|x-amz-signature|x-amz-security-token|x-goog-signature)=)${NEW}([^&\\s"'\\\\#<>]{6,2000})`,
      'gi',
    ),
  },
  {
    name: 'authorization',
    pattern: new RegExp(
      `((?<![a-z])(?:authorization|proxy-authorization|x-api-key|api-key|x-auth-token|x-goog-api-key|x-functions-key|private-token|x-vault-token)${SEPARATOR}(?:(?:bearer|basic|token|apikey|bot|digest)\\s{1,3})?)${NEW}([^\\s"'\\\\,;]{8,4000})`,
      'gi',
    ),
  },
  { name: 'bearer', pattern: new RegExp(`((?<![a-z])bearer\\s{1,3})${NEW}([A-Za-z0-9._~+/=-]{16,4000})`, 'gi') },
  {
    name: 'connection-string',
    pattern: new RegExp(
      `((?:AccountKey|SharedAccessKey|SharedAccessSignature|Password|Pwd)=)${NEW}([^\\s;"'\\\\]{8,300})`,
      'g',
    ),
  },
  {
    // Requires letters and digits, so that `token: string` and `maxTokens = 4096` stay.
    name: 'secret',
    pattern: new RegExp(
      `((?:pass(?:word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|account[-_]?key|credentials?)${SEPARATOR})${NEW}(?=[^\\s"'\\\\]{0,60}\\d)(?=[^\\s"'\\\\]{0,60}[A-Za-z])([^\\s"'\\\\,;&<>{}()[\\]]{8,300})(?![([.])`,
      'gi',
    ),
  },
  {
    // As in shells, forms and files: no space around the sign, or quotes. Words such as `string` are not passwords.
    name: 'password',
    pattern: new RegExp(
      `((?:pass(?:word|wd|phrase)|pwd)\\\\?["']?(?:=|\\s{0,3}(?::=|=>|:|=)\\s{0,3}\\\\?["']))${NEW}(?!(?:${NO_PASSWORD})(?![\\w-]))([^\\s"'\\\\,;&<>{}()[\\]$]{4,300})(?![([.\\w])`,
      'gi',
    ),
  },
  {
    name: 'password',
    pattern: new RegExp(
      `((?:^|\\n|\\\\n)[ \\t-]{0,40}[\\w.-]{0,60}pass(?:word|wd|phrase)[ \\t]{0,3}:[ \\t]{1,10})${NEW}(?!(?:${NO_PASSWORD})(?![\\w-]))([^\\s"'\\\\,;&<>{}()[\\]$]{4,300})(?=[ \\t]{0,20}(?:$|[\\r\\n]|\\\\[rn]))`,
      'gi',
    ),
  },
  {
    name: 'password',
    pattern: new RegExp(`(\\bpassword (?:is|was) )${NEW}((?=\\S{0,60}\\d)[^\\s"'\\\\,;]{6,300})`, 'gi'),
  },
  {
    name: 'variable',
    pattern: new RegExp(
      `((?<![A-Za-z0-9])[A-Z][A-Z0-9_]{0,60}(?:SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS)=\\\\?["']?)${NEW}(?![$\\d]{1,9}(?!\\w))([^\\s"'\\\\;&|$<>]{4,300})`,
      'g',
    ),
  },
  {
    name: 'option',
    pattern: new RegExp(
      `((?<![\\w-])--(?:password|passwd|pass|token|api-key|secret|client-secret|access-key|auth-token)[ =]{1,3}\\\\?["']?)${NEW}(?!-)([^\\s"'\\\\<>[\\]{}$|]{4,300})`,
      'gi',
    ),
  },
  {
    name: 'login',
    pattern: new RegExp(
      `(${command('curl|wget|http|https|xh')}{0,300}?(?<=\\s)(?:-u|-U|--user|--proxy-user)[ =]{0,3}\\\\?["']?[^\\s:"'\\\\]{1,100}:)${NEW}([^\\s"'\\\\]{1,200})`,
      'g',
    ),
  },
  {
    name: 'login',
    pattern: new RegExp(
      `(${command('sshpass|mysql|mysqldump|mariadb|docker login')}{0,200}?(?<=\\s)-p ?\\\\?["']?)${NEW}([^\\s"'\\\\-][^\\s"'\\\\]{3,200})`,
      'g',
    ),
  },
  {
    // `.netrc`, on one line or several.
    name: 'netrc',
    pattern: new RegExp(
      `((?<!\\w)login(?:\\s|\\\\[nt]){1,20}[^\\s\\\\]{1,200}(?:\\s|\\\\[nt]){1,20}(?:account(?:\\s|\\\\[nt]){1,20}[^\\s\\\\]{1,200}(?:\\s|\\\\[nt]){1,20})?password(?:\\s|\\\\[nt]){1,20})${NEW}([^\\s"'\\\\]{1,300})`,
      'gi',
    ),
  },
  {
    // `.pgpass`: host, port, database, user, password.
    name: 'pgpass',
    pattern: new RegExp(
      `((?<![\\w.*:-])[\\w.*-]{1,200}:(?:\\d{2,5}|\\*):[\\w*-]{1,100}:[\\w.@*-]{1,100}:)${NEW}([^\\s:"'\\\\]{4,200})(?![\\w:])`,
      'g',
    ),
  },
  {
    name: 'element',
    pattern: new RegExp(
      `(<(?:[\\w.-]{1,40}:)?[\\w.-]{0,40}(?:${SECRET_WORD})(?:\\s[^<>]{0,200})?>\\s{0,20}(?:<!\\[CDATA\\[)?)${NEW}(?!(?:${NO_PASSWORD})\\s*<)([^<>\\s][^<>\\n]{2,500})(?=</|\\]\\]>)`,
      'gi',
    ),
  },
  {
    name: 'argument',
    pattern: new RegExp(
      `(\\bdefine\\s{0,3}\\(\\s{0,3}\\\\?["'][\\w.-]{0,60}(?:${SECRET_WORD})\\\\?["']\\s{0,3},\\s{0,3}\\\\?["'])${NEW}([^\\s"'\\\\]{3,300})`,
      'gi',
    ),
  },
  {
    name: 'argument',
    pattern: new RegExp(
      `(["'][\\w.-]{0,60}(?:${SECRET_WORD})\\\\?["']\\s{0,3},\\s{0,3}\\\\?["'])${NEW}(?=[^\\s"'\\\\]{0,60}\\d)(?=[^\\s"'\\\\]{0,60}[A-Za-z])([^\\s"'\\\\]{8,300})(?=\\\\?["'])`,
      'gi',
    ),
  },
  {
    name: 'password',
    pattern: new RegExp(
      `(\\b(?:PASSWORD|IDENTIFIED\\s{1,3}(?:WITH\\s{1,3}[\\w'"]{1,40}\\s{1,3})?BY(?:\\s{1,3}PASSWORD)?)\\s{1,3}(?:=\\s{0,3})?\\\\?["'])${NEW}([^\\s"'\\\\]{3,300})(?=\\\\?["'])`,
      'gi',
    ),
  },
  {
    name: 'key-data',
    pattern: new RegExp(
      `((?<![\\w-])(?:client-key-data|identitytoken|registrytoken|id-token|refresh-token|_auth(?:Token)?|_password|auth|PrivateKey|PresharedKey)${SEPARATOR})${NEW}(?=[A-Za-z+/_=.-]{0,200}\\d)([A-Za-z0-9+/_=.-]{16,20000})(?![\\w(])`,
      'g',
    ),
  },
  {
    name: 'wifi-key',
    pattern: new RegExp(
      `((?<![A-Za-z0-9])(?:(?:wpa|sae)[-_]?)?(?:psk|passphrase|wep[-_]key\\d?|pre[-_]?shared[-_]?key)\\s{0,3}[=:]\\s{0,3}\\\\?["']?)${NEW}([^\\s"'\\\\<>]{8,300})`,
      'gi',
    ),
  },
  {
    name: 'private-key',
    pattern:
      /(Private-Lines:[ \t]{0,3}\d{1,4}(?:\r?\n|\\r|\\n){1,2})((?:[A-Za-z0-9+/=]{1,100}(?:\r?\n|(?:\\r|\\n){1,2}|$)){1,300})/g,
  },
  {
    name: 'url-parameter',
    pattern: new RegExp(
      `((?:${SECRET_WORD})%3d(?:%22|%27)?)${NEW}((?:[A-Za-z0-9._~+*/=-]|%(?!2[267])[0-9a-f]{2}){6,2000})`,
      'gi',
    ),
  },
  {
    name: 'password-field',
    pattern: new RegExp(
      `(<input\\b(?=[^<>]{0,400}type\\s?=\\s?\\\\?["']?password)[^<>]{0,400}?\\bvalue\\s?=\\s?\\\\?["'])${NEW}([^"'\\\\<>]{1,300})`,
      'gi',
    ),
  },
  {
    // A quoted value of mixed letters without a digit; names of classes have no two capitals in a row.
    name: 'secret',
    pattern: new RegExp(
      `((?:${CASED_WORD})${SEPARATOR})${NEW}(?<=["'])(?=[A-Za-z+/_=-]{0,60}[A-Z]{2})(?=[A-Za-z+/_=-]{0,60}[a-z][A-Z])([A-Za-z+/_=-]{16,300})(?=\\\\?["'])`,
      'g',
    ),
  },
  {
    name: 'password',
    pattern: new RegExp(
      `((?<![A-Za-zÀ-ɏЀ-ӿ])(?:${PASSWORD_ABROAD})\\\\?["']?\\s{0,3}(?:=>|:=|[:=：＝]|ist|est|es|é|は)\\s{0,3}\\\\?["']?)${NEW}(?=[^\\s"'\\\\]{0,60}(?:[\\d!#%*+@^]|[a-z][A-Z]))([^\\s"'\\\\,;&<>{}()[\\]]{4,300})`,
      'g',
    ),
  },
  {
    name: 'cookie',
    pattern: new RegExp(
      `((?<![a-z])(?:set-)?cookie2?${SEPARATOR})${NEW}((?=[^\\r\\n"'\\\\=]{1,200}=)[^\\r\\n"'\\\\]{4,4000})`,
      'gi',
    ),
  },
  {
    name: 'cookie',
    pattern: new RegExp(
      `((?<![\\w-])(?:-b|--cookie)[ =]{1,3}\\\\?["'])${NEW}([^\\r\\n"'\\\\=]{1,200}=[^\\r\\n"'\\\\]{1,4000})`,
      'g',
    ),
  },
]

/** Header, body and optional end; line breaks may be escaped as in JSON. A truncated key is redacted too. */
export const PRIVATE_KEY =
  /(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)((?:[A-Za-z0-9+/=\s:,.]|\\{1,8}[nrt]|-(?!----)){1,20000})((?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)/g
