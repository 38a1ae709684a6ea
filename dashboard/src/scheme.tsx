import { useEffect, useState } from 'preact/hooks'

const KEY = 'plimsoll-scheme'
const SCHEMES = ['system', 'light', 'dark'] as const
type Scheme = (typeof SCHEMES)[number]

const stored = (): Scheme => SCHEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'system'

/** System, light, dark. */
export function SchemeButton() {
  const [scheme, setScheme] = useState<Scheme>(stored)
  useEffect(() => {
    document.documentElement.dataset['scheme'] = scheme
    localStorage.setItem(KEY, scheme)
    dispatchEvent(new Event('resize'))
  }, [scheme])
  const next = SCHEMES[(SCHEMES.indexOf(scheme) + 1) % SCHEMES.length]!
  return (
    <button
      class="scheme"
      title={`Colours: ${scheme}. Press for ${next}.`}
      aria-label={`Colours: ${scheme}. Change to ${next}.`}
      onClick={() => setScheme(next)}
    >
      {scheme === 'dark' ? '☾' : scheme === 'light' ? '☀' : '◐'}
    </button>
  )
}
