/** Variables of the process, passed in. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * On a model that no catalogue knows and whose provider has counted nothing yet, the designs' divisors (2.5 to 4 characters) can be
 * far too low; contextguard's default factor answers that for itself, and serves the others here.
 */
export const CAUTION = 2.5

/** A whole number, with or without commas between its digits; anything else is the default. */
export function integerOf(env: Environment, name: string, fallback: number): number {
  const raw = env[name]?.trim().replaceAll(',', '') ?? ''
  return /^\d{1,15}$/.test(raw) ? Number(raw) : fallback
}

/** A share within bounds; what is no number is the default, what is outside is moved to the nearest bound. */
export function shareOf(
  env: Environment,
  name: string,
  fallback: number,
  [low, high]: readonly [number, number],
): number {
  const raw = env[name]?.trim() ?? ''
  if (!/^\d*\.?\d+$/.test(raw)) return fallback
  return Math.min(high, Math.max(low, Number(raw)))
}

export const isTrue = (env: Environment, name: string): boolean => env[name]?.trim().toLowerCase() === 'true'
