import { createHash } from 'node:crypto'

/** Ids that look like a vendor's and are the same in every run with the same seed. */
export function createIds(seed: number) {
  return {
    of(prefix: string, exchange: number, part = 0): string {
      const digest = createHash('sha256').update(`${seed}:${prefix}:${exchange}:${part}`).digest('base64url')
      return `${prefix}_${digest.replace(/[-_]/g, 'x').slice(0, 24)}`
    },
  }
}
