import type { HeaderReader } from '../identity.ts'

/** Lists such as `anthropic-beta` grow by our entry; what the client asked for stays in them. */
export function besideOwn(needed: Readonly<Record<string, string>>, own: HeaderReader): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(needed)) {
    const entries = [...(own(name) ?? '').split(','), ...value.split(',')].map((entry) => entry.trim())
    headers[name] = [...new Set(entries.filter((entry) => entry !== ''))].join(',')
  }
  return headers
}
