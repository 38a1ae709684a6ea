export { bytes, dollars, grouped as tokens, percent, plural, short } from '../../src/util/numbers.ts'

export function ago(at: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000))
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return new Date(at).toISOString().slice(0, 10)
}

export const clock = (at: number): string => new Date(at).toLocaleString()
