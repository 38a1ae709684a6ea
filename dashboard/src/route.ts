import { useLayoutEffect, useState } from 'preact/hooks'

export const PAGES = ['sessions', 'artifacts', 'spending', 'meter', 'policy', 'compare'] as const
export type PageName = (typeof PAGES)[number] | 'session'

export interface Route {
  readonly page: PageName
  readonly query: Readonly<Record<string, string>>
}

/** Where the page stands is behind the #, so that a link can be kept and the server needs to know nothing of it. */
export function placeOf(hash: string): Route {
  const [name = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const page = [...PAGES, 'session' as const].find((one) => one === name) ?? 'sessions'
  return { page, query: Object.fromEntries(new URLSearchParams(query)) }
}

export function linkTo(page: PageName, query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString()
  return `#/${page}${search === '' ? '' : `?${search}`}`
}

export function usePlace(): Route {
  const [place, setPlace] = useState(() => placeOf(location.hash))
  // Before anything else can run: an effect would come later, and miss what changed meanwhile.
  useLayoutEffect(() => {
    const follow = (): void => setPlace(placeOf(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return place
}
