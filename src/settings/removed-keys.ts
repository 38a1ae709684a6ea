const NO_PRESET = 'No preset used this step, so the key changed nothing'

/** Keys of a policy that earlier versions knew, by the end of their path, with what to do about each. */
const REMOVED: Readonly<Record<string, string>> = {
  'override.water.messages':
    'cyber-autoagent counts 70 % of its window, which CYBER_CONVERSATION_WINDOW sets; contextguard-window starts from 21 messages on.',
  'override.water.cacheRelax': 'Set CYBER_PROMPT_CACHE_RELAX, for the preset cyber-autoagent.',
  'override.steps.squeeze.tokens': 'Use override.steps.squeeze-budget.tokens, for the preset autosre.',
  'override.steps.squeeze.minimum': 'Use override.steps.squeeze-budget.minimum, for the preset autosre.',
  'override.steps.native': 'Use override.native with the same keys.',
  'override.steps.strip-reasoning': `${NO_PRESET}: remove it. A compaction takes reasoning out with the steps that it belongs to.`,
  'override.steps.collapse-duplicates': `${NO_PRESET}: remove it. A record shows a repeated line once.`,
  'override.steps.offload': `${NO_PRESET}: remove it. override.intake.maxShare says how large a result may be before it is shown as a preview.`,
}

/** What to use in the place of a key that is no longer there; undefined for one that never was. */
export const insteadOf = (path: string): string | undefined =>
  Object.entries(REMOVED).find(([end]) => path === end || path.endsWith(`.${end}`))?.[1]
