import type { RuleOptions, Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import type { Findings } from '../kit/rule-kit.ts'
import { findings, findLoneSurrogate, profilesOf, shown } from '../kit/rule-kit.ts'
import { dataCount, fieldOf, partsOf, signatureOf } from './parts.ts'
import type { GeminiRule } from './rule-book.ts'
import { GEMINI_RULES, MAX_BODY_BYTES, MAX_OUTPUT_TOKENS } from './rule-book.ts'
import { checkTurns, type GeminiRuleContext } from './rules-turns.ts'

export { GEMINI_RULES } from './rule-book.ts'

const FUNCTION_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/

/** The rules of generateContent on a parsed body. Never throws; linear in the body. */
export function checkGemini(body: unknown, options: RuleOptions = {}): Violation[] {
  const found = findings(GEMINI_RULES)
  if (options.bytes !== undefined && options.bytes > MAX_BODY_BYTES) {
    found.report('body-bytes', '', `Request payload size exceeds the limit: ${MAX_BODY_BYTES} bytes.`)
  }
  if (!isRecord(body)) {
    found.report('body-shape', '', 'Invalid JSON payload received.')
    return [...found.list]
  }
  const lone = findLoneSurrogate(body, options.wellFormed)
  if (lone !== undefined)
    found.report('well-formed-text', lone, 'Invalid JSON payload received. Lone surrogate in string.')
  const context = { body, found, profiles: profilesOf(options.profile), model: options.model ?? '' }
  checkEnvelope(context)
  checkContents(context)
  checkTurns(context)
  return [...found.list]
}

function checkEnvelope({ body, found }: GeminiRuleContext): void {
  if (!Array.isArray(body.contents) || body.contents.length === 0) {
    found.report('body-shape', 'contents', '* GenerateContentRequest.contents: contents is not specified')
  }
  const config = fieldOf(body, 'generationConfig', 'generation_config')
  const cap = isRecord(config) ? fieldOf(config, 'maxOutputTokens', 'max_output_tokens') : undefined
  if (cap !== undefined && cap !== null && (typeof cap !== 'number' || cap < 1 || cap > MAX_OUTPUT_TOKENS)) {
    const message = `Unable to submit request because it has a maxOutputTokens value of ${shown(cap)} but the supported range is from 1 (inclusive) to ${MAX_OUTPUT_TOKENS + 1} (exclusive). Update the value and try again.`
    found.report('output-cap', 'generation_config.max_output_tokens', message)
  }
  const system = fieldOf(body, 'systemInstruction', 'system_instruction')
  if (isRecord(system) && partsOf(system).some((part) => typeof part.text !== 'string')) {
    found.report('system-text', 'system_instruction', 'System instruction parts must be text.')
  }
  const cached = fieldOf(body, 'cachedContent', 'cached_content')
  const toolConfig = fieldOf(body, 'toolConfig', 'tool_config')
  if (
    typeof cached === 'string' &&
    cached !== '' &&
    (system !== undefined || listOf(body.tools).length > 0 || toolConfig !== undefined)
  ) {
    const message =
      'CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.'
    found.report('cached-content-alone', 'cached_content', message)
  }
  checkFunctions(body, found)
}

function checkFunctions(body: Fields, found: Findings<GeminiRule>): void {
  const names = new Set<unknown>()
  recordsIn(body.tools).forEach((tool, at) => {
    recordsIn(fieldOf(tool, 'functionDeclarations', 'function_declarations')).forEach((declared, index) => {
      const path = `tools[${at}].function_declarations[${index}].name`
      if (typeof declared.name !== 'string' || !FUNCTION_NAME.test(declared.name)) {
        found.report(
          'function-name-format',
          path,
          `* GenerateContentRequest.${path}: Invalid function name. Must start with a letter or an underscore.`,
        )
      } else if (names.has(declared.name)) {
        found.report('unique-function-names', path, `Duplicate function declaration found: ${declared.name}`)
      }
      names.add(declared.name)
    })
  })
  const config = fieldOf(body, 'toolConfig', 'tool_config')
  const calling = isRecord(config) ? fieldOf(config, 'functionCallingConfig', 'function_calling_config') : undefined
  if (isRecord(calling) && names.size === 0) {
    found.report(
      'tool-config-needs-tools',
      'tool_config',
      'Function calling config is set without function_declarations.',
    )
  }
}

function checkContents({ body, found, profiles }: GeminiRuleContext): void {
  listOf(body.contents).forEach((content, index) => {
    const path = `contents[${index}]`
    if (!isRecord(content) || !['user', 'model', 'function', undefined].includes(content.role as string | undefined)) {
      found.report('content-shape', path, 'Please use a valid role: user, model.')
      return
    }
    const parts = partsOf(content)
    if (parts.length === 0) {
      found.report(
        'content-shape',
        `${path}.parts`,
        `* GenerateContentRequest.${path}.parts: contents.parts must not be empty.`,
      )
    }
    parts.forEach((part, at) => {
      if (dataCount(part) !== 1) {
        const message = `* GenerateContentRequest.${path}.parts[${at}].data: required oneof field 'data' must have one initialized field`
        found.report('part-shape', `${path}.parts[${at}]`, message)
      } else if (profiles.has('vertex') && part.text === '' && signatureOf(part) === '') {
        const message =
          'Unable to submit request because it must have a text parameter. Add a text parameter and try again.'
        found.report('no-empty-text', `${path}.parts[${at}]`, message)
      }
    })
  })
}
