const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export const tokens = (count: number): string => whole.format(count)

/** 1234 → 1.2k; titles and tables show exact figures. */
export function short(count: number): string {
  if (Math.abs(count) < 1_000) return String(Math.round(count))
  if (Math.abs(count) < 999_500) return `${trim(count / 1_000)}k`
  return `${trim(count / 1_000_000)}M`
}

const trim = (value: number): string => (Math.abs(value) < 10 ? value.toFixed(1).replace(/\.0$/, '') : value.toFixed(0))

export function dollars(amount: number): string {
  const digits = Math.abs(amount) >= 100 ? 0 : Math.abs(amount) >= 0.1 || amount === 0 ? 2 : 4
  return `${amount < 0 ? '−' : ''}$${Math.abs(amount).toFixed(digits)}`
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KB`
  return `${(count / 1024 / 1024).toFixed(1)} MB`
}

export const plural = (count: number, name: string): string => `${whole.format(count)} ${name}${count === 1 ? '' : 's'}`

export const percent = (share: number): string => `${Math.round(share * 100)} %`

export function ago(at: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000))
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return new Date(at).toISOString().slice(0, 10)
}

export const clock = (at: number): string => new Date(at).toLocaleString()
