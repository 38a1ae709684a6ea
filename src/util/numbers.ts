/* Numbers as people read them, in the terminal and on the page. */

export const grouped = (value: number): string => Math.round(value).toLocaleString('en-US')

/** 1,234 → 1.2k; 12,345,678 → 12.3M: three digits, so that figures are easy to compare. */
export function short(value: number): string {
  const rounded = Math.round(value)
  if (rounded < 1000) return String(rounded)
  for (const [unit, size] of [
    ['k', 1e3],
    ['M', 1e6],
    ['G', 1e9],
  ] as const) {
    const scaled = rounded / size
    if (scaled < 999.5 || unit === 'G')
      return `${scaled < 99.95 ? scaled.toFixed(1).replace(/\.0$/, '') : Math.round(scaled)}${unit}`
  }
  return String(rounded)
}

export const percent = (part: number, whole = 1): string => {
  if (whole === 0) return '0 %'
  const share = (100 * part) / whole
  return share > 0 && share < 1 ? '<1 %' : `${Math.round(share)} %`
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`

/** Cents, and hundredths of them below a dime. */
export const dollars = (usd: number, digits = usd !== 0 && Math.abs(usd) < 0.1 ? 4 : 2): string =>
  `${usd < 0 ? '−' : ''}$${Math.abs(usd).toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`
  return count < 1024 * 1024 ? `${(count / 1024).toFixed(1)} KB` : `${(count / 1024 / 1024).toFixed(1)} MB`
}
