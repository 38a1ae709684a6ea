import { skipString } from '../../core/json/lexer.ts'
import { parsedJson } from '../../core/values.ts'
import { LABELLED_SECRETS, PRIVATE_KEY, TOKEN_FORMATS, type TokenFormat } from './formats.ts'

export interface RedactionOptions {
  /** Values of these variables are redacted wherever they occur. `false`: none. @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>> | false
  /** More secrets by value; the key is the name to show instead. */
  readonly values?: Readonly<Record<string, string>>
  /** Your own patterns; the whole match is the secret. */
  readonly patterns?: readonly { readonly name: string; readonly pattern: RegExp }[]
}

/** Replaces secrets in a text and keeps their labels. Applying it twice changes nothing more. */
export type Redactor = (text: string) => string

const mark = (name: string): string => `[redacted:${name}]`

export function createRedactor(options: RedactionOptions = {}): Redactor {
  const { environment = process.env, values = {}, patterns = [] } = options
  const known = [
    ...Object.entries(values).map(([name, value]): KnownValue => ({ name, value })),
    ...(environment === false ? [] : secretsIn(environment)),
  ]
  const byValue = valueRedactor(known.filter(({ value }) => value !== ''))
  const own = patterns.map(({ name, pattern }): TokenFormat => {
    const flags = pattern.flags.includes('g') ? pattern.flags : `${pattern.flags}g`
    return { name, hints: [''], pattern: new RegExp(pattern.source, flags) }
  })
  const formats = [...own, ...TOKEN_FORMATS]
  const redact: Redactor = (text) => {
    let out = byValue(text)
    if (out.includes('PRIVATE KEY')) {
      out = out.replace(PRIVATE_KEY, (whole, head: string, body: string, end: string) =>
        /^(?:\s|\\+[nrt])*$/.test(body) ? whole : `${head}${mark('private-key')}${end}`,
      )
    }
    for (const { name, hints, pattern } of formats)
      if (hints.some((hint) => out.includes(hint))) out = out.replace(pattern, mark(name))
    for (const { name, pattern } of LABELLED_SECRETS)
      out = out.replace(pattern, (_, label: string) => `${label}${mark(name)}`)
    return out
  }
  const everywhere: Redactor = (text) => redact(redactJsonStrings(text, redact))
  return (text) => redactBase64(everywhere(text), everywhere)
}

/** One pass for all values, the longest first, since one secret may be the start of another. */
function valueRedactor(known: readonly KnownValue[]): Redactor {
  const names = new Map<string, string>()
  for (const { name, value } of known) for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name)
  if (names.size === 0) return (text) => text
  const forms = [...names.keys()].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(forms.map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g')
  return (text) => text.replace(pattern, (found) => mark(names.get(found)!))
}

/** Depth of JSON inside JSON strings, such as tool arguments that contain a request. Deeper strings are not parsed. */
const MOST_NESTED = 5

/**
 * Redacts the decoded strings of JSON: after an escaped `\n` a token looks like the end of a longer word, and an escaped letter hides it. Works on
 * any text; the rest is left to `redact`.
 */
function redactJsonStrings(text: string, redact: Redactor, depth = 0): string {
  if (depth >= MOST_NESTED || !text.includes('\\')) return text
  const out: string[] = []
  let done = 0
  for (let open = text.indexOf('"'); open >= 0; open = text.indexOf('"', done)) {
    const end = skipString(text, open)
    if (end < 0) break
    const literal = text.slice(open, end)
    out.push(text.slice(done, open), (literal.includes('\\') && redactLiteral(literal, redact, depth)) || literal)
    done = end
  }
  return out.length === 0 ? text : out.join('') + text.slice(done)
}

function redactLiteral(literal: string, redact: Redactor, depth: number): string | undefined {
  const value = parsedJson(literal)
  if (typeof value !== 'string') return undefined
  const clean = redact(redactJsonStrings(value, redact, depth + 1))
  return clean === value ? undefined : JSON.stringify(clean)
}

const BASE64 = /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,100000}={0,2}(?![A-Za-z0-9+/=])/g
const PRINTABLE = /^[\t\n\r\x20-\x7e]+$/

/** Base64 of text that holds a secret goes as a whole. */
const redactBase64 = (text: string, redact: Redactor): string =>
  text.replace(BASE64, (encoded) => {
    // Most of such runs are hashes and pictures, whose first bytes show it.
    if (!PRINTABLE.test(atob(encoded.slice(0, 24)))) return encoded
    const decoded = Buffer.from(encoded, 'base64').toString('latin1')
    return !PRINTABLE.test(decoded) || redact(decoded) === decoded ? encoded : mark('base64')
  })

/** A secret by value, and the name to show instead. */
interface KnownValue {
  readonly name: string
  readonly value: string
}

const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASS|PASSWD|PWD|CREDENTIAL|AUTH|DSN|PRIVATE|SIGNATURE|_URL|_URI|CONNECTION)/i
/** Names that match but are not secrets. */
const HARMLESS_NAME =
  /^(?:PWD|OLDPWD|SSH_AUTH_SOCK|XAUTHORITY|GPG_AGENT_INFO|DBUS_SESSION_BUS_ADDRESS)$|_(?:PATH|FILE|DIR)$/
/** Shorter values occur by chance. */
const LEAST_LENGTH = 8
const URL_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:([^\s@/]+)@/i

/** Values of environment variables with secret-like names. Of a URL only the password is a secret. */
function secretsIn(environment: Readonly<Record<string, string | undefined>>): KnownValue[] {
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

/** The forms in which a value may occur: plain, in JSON, in a URL, in base64. */
function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const base64 = Buffer.from(value).toString('base64').replace(/=+$/, '')
  return [...new Set([value, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(value), base64])]
}
