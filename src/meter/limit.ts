import type { RequestSettings } from '../core/conversation.ts'
import { PlimsollError } from '../core/errors.ts'
import type { BufferRule } from '../core/policy.ts'
import type { Limit, LimitSource, Target } from '../core/target.ts'
import type { Catalogue, ModelInfo } from '../ports/catalogue.ts'

/** Bytes that every large vendor takes in one request body; Anthropic's 32 MB is the smallest. */
const DEFAULT_BODY_BYTES = 32_000_000

/** What is known about a target beside the catalogue, strongest first. */
export interface LimitKnowledge {
  /** A window that this endpoint taught; it holds where nobody set one. */
  readonly learnedWindow?: number
  /** A window from the endpoint's own metadata. */
  readonly endpointWindow?: number
  readonly bodyBytes?: number
}

/** A fixed number of tokens, or a share of the window. */
export type BufferSetting = number | BufferRule

/**
 * What fits: window - buffer - output reserve. The reserve is the request's own cap, else the target's, else what an answer needs. Where the
 * vendor limits the prompt apart from the output, that limit holds too, unless somebody set the window. A limit that is not positive is an
 * error with its numbers: a request cannot be cut down to less than nothing.
 */
export function limitOf(
  target: Target,
  settings: Pick<RequestSettings, 'maxOutputTokens'>,
  buffer: BufferSetting,
  catalogue: Pick<Catalogue, 'resolve'>,
  knowledge: LimitKnowledge = {},
): Limit {
  const { info, match } = catalogue.resolve(target.model)
  const [known, from] = windowOf(target, knowledge, info, match === 'default')
  const window = Math.min(known, target.heldWithin ?? Infinity)
  const source = window < known ? 'learned' : from
  const outputReserve = settings.maxOutputTokens ?? target.maxOutputTokens ?? answerReserve(info, window)
  const bufferTokens = bufferOf(buffer, window)
  const tokens = roomOf(source === 'catalogue' ? info : { window }, outputReserve) - bufferTokens
  if (tokens <= 0) {
    throw new PlimsollError(
      'limit-not-positive',
      `Nothing fits on ${target.model}: a window of ${format(window)} tokens minus a buffer of ${format(bufferTokens)} and an output reserve of ${format(outputReserve)} leaves ${format(tokens)}.`,
      {
        advice: 'Lower the maximum output tokens or the buffer, or name the real window in the config.',
        fields: { model: target.model, window, buffer: bufferTokens, outputReserve, tokens, source },
      },
    )
  }
  return {
    window,
    buffer: bufferTokens,
    outputReserve,
    tokens,
    bytes: knowledge.bodyBytes ?? DEFAULT_BODY_BYTES,
    source,
  }
}

function windowOf(
  target: Target,
  knowledge: LimitKnowledge,
  info: Pick<ModelInfo, 'window' | 'windowIsSet'>,
  unknown: boolean,
): [number, LimitSource] {
  if (target.window !== undefined) return [target.window, 'config']
  if (info.windowIsSet === true) return [info.window, 'config']
  if (knowledge.learnedWindow !== undefined) return [knowledge.learnedWindow, 'learned']
  if (knowledge.endpointWindow !== undefined) return [knowledge.endpointWindow, 'endpoint']
  return [info.window, unknown ? 'default' : 'catalogue']
}

/** Gemini's output stands beside its input limit; GPT-5's stands in the window but its prompt is limited as well. */
function roomOf(info: Pick<ModelInfo, 'window' | 'inputLimit' | 'maxOutputTokens'>, outputReserve: number): number {
  if (info.inputLimit === undefined) return info.window - outputReserve
  const whole = Math.max(info.window, info.inputLimit + (info.maxOutputTokens ?? 0))
  return Math.min(info.inputLimit, whole - outputReserve)
}

/** Long answers are seldom longer; models that think first need more, and vendors advise to leave them 25,000. */
const ANSWER_TOKENS = 8_192
const REASONED_ANSWER_TOKENS = 25_000
/** With the buffer beside it, at least four fifths of a window are left for the prompt. */
export const MOST_OF_WINDOW = 0.15

/** What an answer needs where nobody said how long it may be: what a model could write at most would leave half of some windows unused. */
function answerReserve({ maxOutputTokens, reasoning }: ModelInfo, window: number): number {
  const needed = reasoning ? REASONED_ANSWER_TOKENS : ANSWER_TOKENS
  return Math.floor(Math.min(needed, maxOutputTokens ?? Infinity, window * MOST_OF_WINDOW))
}

export function bufferOf(buffer: BufferSetting, window: number): number {
  if (typeof buffer === 'number') return buffer
  return Math.min(buffer.max, Math.max(buffer.min, Math.floor(window * buffer.fraction)))
}

const format = (tokens: number): string => tokens.toLocaleString('en-US')
