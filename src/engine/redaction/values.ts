/** A secret known by its value, and the name it is shown under. */
export interface KnownValue {
  readonly name: string
  readonly value: string
}

const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASS|PASSWD|PWD|CREDENTIAL|AUTH|DSN|PRIVATE|SIGNATURE|_URL|_URI|CONNECTION)/i
/** Names that match and hold no secret. */
const HARMLESS_NAME =
  /^(?:PWD|OLDPWD|SSH_AUTH_SOCK|XAUTHORITY|GPG_AGENT_INFO|DBUS_SESSION_BUS_ADDRESS)$|_(?:PATH|FILE|DIR)$/
/** Shorter values occur by chance. */
const LEAST_LENGTH = 8
const URL_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:([^\s@/]+)@/i

/** Values of environment variables whose names speak of secrets. Of a URL only its password is one. */
export function secretsIn(environment: Readonly<Record<string, string | undefined>>): KnownValue[] {
  const found: KnownValue[] = []
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || !SECRET_NAME.test(name) || HARMLESS_NAME.test(name)) continue
    const password = URL_PASSWORD.exec(value)?.[1]
    const secret = password ?? (/^(?:[a-z][a-z0-9+.-]*:\/\/|\/|\.\/|~\/)/i.test(value) ? undefined : value)
    if (secret !== undefined && isSecret(secret)) found.push({ name, value: secret })
  }
  return found
}

const isSecret = (value: string): boolean => value.length >= LEAST_LENGTH && !/^(?:true|false|\d+|[a-z]+)$/i.test(value)

/** The forms in which a value turns up: as it is, in JSON, in a URL, in base64. */
export function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const base64 = Buffer.from(value).toString('base64').replace(/=+$/, '')
  return [...new Set([value, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(value), base64])]
}
