/** Secrets that only their surroundings give away. The first group is the label, which stays; the second is the secret. */
export interface LabelledSecret {
  readonly name: string
  readonly pattern: RegExp
}

/** Not a place that was redacted already. */
const NEW = '(?!\\[redacted:)'
const SEPARATOR = `\\\\?["']?\\s{0,3}(?::=|=>|:|=)\\s{0,3}\\\\?["']?`

/** What stands in a password's place in code, schemas and forms. */
const NO_PASSWORD =
  'string|str|text|varchar|bytes|number|boolean|bool|null|nil|none|undefined|true|false|any|unknown|object|required|optional|password|passwd|passphrase|secret|secretstr|field|input|hidden|self|this|props|state|form|data|user|config|settings|options|params|process|env|os|ref|value|function|async|await|new'

/** The beginning of a command, and a character of its arguments: where it is named anew, that one is the beginning. */
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
    // Letters and digits both, so that `token: string` and `maxTokens = 4096` stay code.
    name: 'secret',
    pattern: new RegExp(
      `((?:pass(?:word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|account[-_]?key|credentials?)${SEPARATOR})${NEW}(?=[^\\s"'\\\\]{0,60}\\d)(?=[^\\s"'\\\\]{0,60}[A-Za-z])([^\\s"'\\\\,;&<>{}()[\\]]{8,300})(?![([.])`,
      'gi',
    ),
  },
  {
    // As shells, forms and files write it: no room around the sign, or quotes. Words that stand for a value are none.
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

/** Header, body and, if it is there, the end; line breaks as they are or as JSON writes them. A cut-off key counts too. */
export const PRIVATE_KEY =
  /(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)((?:[A-Za-z0-9+/=\s:,.]|\\{1,8}[nrt]|-(?!----)){1,20000})((?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)/g
