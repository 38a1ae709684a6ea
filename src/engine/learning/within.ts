import type { LearnedLimit, Target } from '../../core/target.ts'

/** The target for one conversation that was refused: that holds over a window that was set, and over what others were taught. */
export function within(target: Target, { window, bodyBytes }: LearnedLimit): Target {
  const { learned = {}, heldWithin = Infinity } = target
  const lowestBytes = Math.min(bodyBytes ?? Infinity, learned.bodyBytes ?? Infinity)
  return {
    ...target,
    ...(window !== undefined && { heldWithin: Math.min(window, heldWithin) }),
    learned: { ...learned, ...(lowestBytes < Infinity && { bodyBytes: lowestBytes }) },
  }
}
