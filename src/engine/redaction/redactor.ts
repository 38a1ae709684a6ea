import { TOKEN_FORMATS, type TokenFormat } from './formats.ts'
import { LABELLED_SECRETS, PRIVATE_KEY } from './labelled.ts'
import { redactJsonStrings } from './json-strings.ts'
import { formsOf, secretsIn, type KnownValue } from './values.ts'

export interface RedactionOptions {
  /** Values of these variables are redacted wherever they occur. `false`: none. @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>> | false
  /** Further secrets by value, with the name to show in their place. */
  readonly values?: Readonly<Record<string, string>>
  /** Further forms of your own; a pattern's whole match is the secret. */
  readonly patterns?: readonly { readonly name: string; readonly pattern: RegExp }[]
}

/** Takes secrets out of a text and leaves their labels. Twice is the same as once. */
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
  return (text) => redact(redactJsonStrings(text, redact))
}

/** One pass for all values, the longest first: one secret may be the beginning of another. */
function valueRedactor(known: readonly KnownValue[]): Redactor {
  const names = new Map<string, string>()
  for (const { name, value } of known) for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name)
  if (names.size === 0) return (text) => text
  const forms = [...names.keys()].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(forms.map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g')
  return (text) => text.replace(pattern, (found) => mark(names.get(found)!))
}
