import type { HeaderReader } from './identity.ts'

/** Lists such as `anthropic-beta` grow by our entry; what the client asked for stays in them. */
export function besideOwn(needed: Readonly<Record<string, string>>, own: HeaderReader): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(needed)) {
    const list = (own(name) ?? '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '' && entry !== value)
    headers[name] = [...list, value].join(',')
  }
  return headers
}
