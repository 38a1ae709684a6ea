/** Secrets that only their surroundings give away. The first group is the label, which stays; the second is the secret. */
export interface LabelledSecret {
  readonly name: string
  readonly pattern: RegExp
}

/** Not a place that was redacted already. */
const NEW = '(?!\\[redacted:)'
const SEPARATOR = `\\\\?["']?\\s{0,3}(?::=|=>|:|=)\\s{0,3}\\\\?["']?`

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
]

/** Header, body and, if it is there, the end; line breaks as they are or as JSON writes them. A cut-off key counts too. */
export const PRIVATE_KEY =
  /(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)((?:[A-Za-z0-9+/=\s:,.]|\\[nr]|-(?!----)){1,20000})((?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)/g
