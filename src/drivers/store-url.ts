/** `sqlite:./file`, `sqlite:///file` and `sqlite://./file` name files as people expect. */
export const sqlitePath = (url: string): string => url.slice('sqlite:'.length).replace(/^\/\/(?=\/|\.)/, '')

/** `?schema=` names the schema; the rest of the address is the driver's. */
export function schemaOf(url: string): { url: string; schema?: string } {
  const found = /[?&]schema=([^&]*)/.exec(url)
  if (found?.[1] === undefined) return { url }
  const rest = url.replace(found[0], found[0].startsWith('?') ? '?' : '')
  return { url: rest.replace('?&', '?').replace(/\?$/, ''), schema: decodeURIComponent(found[1]) }
}

/** Addresses end up in messages and logs; passwords must not. */
export const withoutPassword = (url: string): string => url.replace(/^([a-z]+:\/\/[^:@/]*):[^@/]*@/i, '$1:***@')
