import type { ModelInfo } from '../ports/catalogue.ts'

/** The vendor's own id before those of resellers, who write theirs in front of it. */
export const vendorsFirst = (models: readonly ModelInfo[]): readonly ModelInfo[] =>
  [...models].sort((a, b) => Number(isResold(a)) - Number(isResold(b)))

const isResold = ({ id }: ModelInfo): boolean => /\/|^[a-z-]+\.[a-z]/.test(id)

/** Dollars per million tokens. */
export const rate = (usd: number | undefined): string => (usd === undefined ? '' : String(Number(usd.toPrecision(3))))
