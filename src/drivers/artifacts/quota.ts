import { PlimsollError } from '../../core/errors.ts'

/** Refuses bytes that would take a tenant over its quota. Nothing is deleted to make room: that is retention's decision. */
export function checkQuota(usedBytes: number, newBytes: number, quotaBytes: number): void {
  if (usedBytes + newBytes <= quotaBytes) return
  throw new PlimsollError(
    'quota-exceeded',
    `Artifacts of this tenant take ${usedBytes} of ${quotaBytes} bytes; ${newBytes} more do not fit.`,
    {
      advice: 'Prune old artifacts, release finished sessions or raise the quota.',
      fields: { usedBytes, newBytes, quotaBytes },
    },
  )
}
