import type { RuleOptions, Violation } from '../../core/codec.ts'
import { isRecord, listOf } from '../../core/values.ts'
import { findings, findLoneSurrogate, profilesOf } from '../kit/rule-kit.ts'
import { checkCacheMarks } from './rules-cache.ts'
import { checkBlocks } from './rules-content.ts'
import { checkEnvelope } from './rules-envelope.ts'
import { checkPairs } from './rules-pairs.ts'
import { checkThinking } from './rules-thinking.ts'
import { ANTHROPIC_RULES, MAX_BODY_BYTES } from './rule-book.ts'
import { traitsOf } from './model-traits.ts'
import { turnsOf } from './rule-turns.ts'

export { ANTHROPIC_RULES } from './rule-book.ts'

/** The rules of the Messages API on a parsed body. Never throws; linear in the body. Empty means that the vendor takes it. */
export function checkAnthropicMessages(body: unknown, options: RuleOptions = {}): Violation[] {
  const found = findings(ANTHROPIC_RULES)
  if (options.bytes !== undefined && options.bytes > MAX_BODY_BYTES) {
    found.report('body-bytes', '', 'Request exceeds the maximum size')
  }
  if (!isRecord(body)) {
    found.report('body-shape', '', 'Input should be a valid dictionary')
    return [...found.list]
  }
  const lone = findLoneSurrogate(body, options.wellFormed)
  if (lone !== undefined) {
    found.report('well-formed-text', lone, 'The request body is not valid JSON: no low surrogate in string')
  }
  const model = options.model ?? (typeof body.model === 'string' ? body.model : '')
  const context = { body, found, traits: traitsOf(model), profiles: profilesOf(options.profile) }
  checkEnvelope(context)
  if (listOf(body.messages).length > 0) {
    const turns = turnsOf(context)
    checkBlocks(context, turns)
    checkPairs(context, turns)
    checkThinking(context, turns)
  }
  checkCacheMarks(context)
  return [...found.list]
}
