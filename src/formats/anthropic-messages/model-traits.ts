/** What differs between Claude models on this wire, as far as the id tells. Unknown ids have no traits: no rule fires. */
export interface ModelTraits {
  /** A request may end with an assistant message that the model continues. */
  readonly prefill?: boolean
  readonly manualThinking?: boolean
  readonly adaptiveThinking?: boolean
  readonly systemMessages?: boolean
  /** Thinking blocks are bound to everything before them. Known from documents, not verified against the vendor. */
  readonly bindsThinking?: boolean
}

// claude-opus-4-6, claude-sonnet-4-5-20250929, claude-fable-5-1; vendor prefixes such as `us.anthropic.` may come before.
const NEW_STYLE = /claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/
// claude-3-5-sonnet-20241022
const OLD_STYLE = /claude-(\d)(?:[-.](\d))?-(?:opus|sonnet|haiku)/

export function traitsOf(model: string): ModelTraits {
  const fresh = NEW_STYLE.exec(model)
  if (fresh !== null) return traitsOfVersion(Number(fresh[2]) + Number(fresh[3] ?? 0) / 100, fresh[1] ?? '')
  const old = OLD_STYLE.exec(model)
  return old === null ? {} : traitsOfVersion(Number(old[1]) + Number(old[2] ?? 0) / 100, '')
}

const traitsOfVersion = (version: number, family: string): ModelTraits => ({
  prefill: version < 4.06,
  manualThinking: version < 4.07,
  adaptiveThinking: version >= 4.06,
  systemMessages: version >= 4.08,
  // Mythos records the binding without enforcing it; Fable is the first that refuses.
  bindsThinking: version >= 5.01 && family !== 'mythos' && family !== 'haiku',
})
