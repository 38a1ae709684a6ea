import type { LearnedLimit, Target } from '../../core/target.ts'

/** The target for one conversation that was refused: that holds over a window that was set, and over what others were taught. */
export function within(target: Target, { window, bodyBytes }: LearnedLimit): Target {
  const { learned = {} } = target
  const lowest = {
    window: Math.min(window ?? Infinity, learned.window ?? Infinity),
    bodyBytes: Math.min(bodyBytes ?? Infinity, learned.bodyBytes ?? Infinity),
  }
  return {
    ...target,
    ...(target.window !== undefined && { window: Math.min(target.window, window ?? Infinity) }),
    learned: {
      ...(lowest.window < Infinity && { window: lowest.window }),
      ...(lowest.bodyBytes < Infinity && { bodyBytes: lowest.bodyBytes }),
    },
  }
}
