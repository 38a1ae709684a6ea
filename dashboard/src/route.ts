import { useLayoutEffect, useState } from 'preact/hooks'

export const PAGES = ['sessions', 'artifacts', 'spending', 'meter', 'policy', 'compare'] as const
export type PageName = (typeof PAGES)[number] | 'session'

export interface Route {
  readonly page: PageName
  readonly query: Readonly<Record<string, string>>
}

/** The page and its parameters are after the #, so that a link can be saved and the server need not know about them. */
export function placeOf(hash: string): Route {
  const [name = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const page = [...PAGES, 'session' as const].find((one) => one === name) ?? 'sessions'
  return { page, query: Object.fromEntries(new URLSearchParams(query)) }
}

export function linkTo(page: PageName, query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString()
  return `#/${page}${search === '' ? '' : `?${search}`}`
}

/** Changes the address without a new entry in the history: what is typed is no page to go back to. */
export function replaceQuery(page: PageName, query: Readonly<Record<string, string>>): void {
  const known = Object.entries(query).filter(([, value]) => value !== '')
  history.replaceState(null, '', linkTo(page, Object.fromEntries(known)))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export function useRoute(): Route {
  const [place, setPlace] = useState(() => placeOf(location.hash))
  // A layout effect, because an ordinary effect would run later and miss changes in between.
  useLayoutEffect(() => {
    const follow = (): void => setPlace(placeOf(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return place
}
