import type { RequestSettings } from '../core/conversation.ts'
import { PlimsollError } from '../core/errors.ts'
import type { BufferRule } from '../core/policy.ts'
import type { Limit, LimitSource, Target } from '../core/target.ts'
import type { Catalogue, ModelInfo, Resolution } from '../ports/catalogue.ts'

/** Bytes that every large vendor takes in one request body; Anthropic's 32 MB is the smallest. */
const DEFAULT_BODY_BYTES = 32_000_000

/**
 * What fits: window - buffer - output reserve. The reserve is the request's own cap, else the target's, else what an answer needs. Where the
 * vendor limits the prompt apart from the output, that limit holds too, unless the user set the window. A limit that is not positive is an
 * error with its numbers: a request cannot be cut down to less than nothing.
 */
export function limitOf(
  target: Target,
  settings: Pick<RequestSettings, 'maxOutputTokens'>,
  { fraction, min, max }: BufferRule,
  catalogue: Pick<Catalogue, 'resolve'>,
): Limit {
  const { info, match } = catalogue.resolve(target.model)
  const [known, from] = windowOf(target, info, match)
  const window = Math.min(known, target.heldWithin ?? Infinity)
  const source = window < known ? 'learned' : from
  const outputReserve = settings.maxOutputTokens ?? target.maxOutputTokens ?? answerReserve(info, window)
  const buffer = Math.min(max, Math.max(min, Math.floor(window * fraction)))
  let room = window - outputReserve
  if (source === 'catalogue' && info.inputLimit !== undefined) {
    // Gemini's output stands beside its input limit; GPT-5's stands in the window but its prompt is limited as well.
    const whole = Math.max(info.window, info.inputLimit + (info.maxOutputTokens ?? 0))
    room = Math.min(info.inputLimit, whole - outputReserve)
  }
  const tokens = room - buffer
  if (tokens <= 0) {
    throw new PlimsollError(
      'limit-not-positive',
      `Nothing fits on ${target.model}: a window of ${format(window)} tokens minus a buffer of ${format(buffer)} and an output reserve of ${format(outputReserve)} leaves ${format(tokens)}.`,
      {
        advice: 'Lower the maximum output tokens or the buffer, or name the real window in the config.',
        fields: { model: target.model, window, buffer, outputReserve, tokens, source },
      },
    )
  }
  return { window, buffer, outputReserve, tokens, bytes: target.learned?.bodyBytes ?? DEFAULT_BODY_BYTES, source }
}

/** A window that the user set has priority over one that was learned from the endpoint, and that over the catalogue's. */
function windowOf(target: Target, info: ModelInfo, match: Resolution['match']): [number, LimitSource] {
  const { window, learned } = target
  if (window !== undefined) return [window, 'config']
  if (info.windowIsSet === true) return [info.window, 'config']
  if (learned?.window !== undefined) return [learned.window, 'learned']
  return [info.window, match === 'default' ? 'default' : 'catalogue']
}

/** Long answers are seldom longer; models that think first need more, and vendors advise to leave them 25,000. */
const ANSWER_TOKENS = 8_192
const REASONED_ANSWER_TOKENS = 25_000
/** With the buffer beside it, at least four fifths of a window are left for the prompt. */
export const MOST_OF_WINDOW = 0.15

/** What an answer needs if no output cap is set: the model's longest answer would leave half of some windows unused. */
function answerReserve({ maxOutputTokens, reasoning }: ModelInfo, window: number): number {
  const needed = reasoning ? REASONED_ANSWER_TOKENS : ANSWER_TOKENS
  return Math.floor(Math.min(needed, maxOutputTokens ?? Infinity, window * MOST_OF_WINDOW))
}

const format = (tokens: number): string => tokens.toLocaleString('en-US')
