import { byteLength, countLines } from '../text.ts'
import { AI_AGENT_MAX_BYTES } from './ai-agent.ts'
import { CYBER_DEFAULTS, readCyberLimits } from './cyber-autoagent.ts'
import type { Environment } from './guard.ts'
import { LARGE_PAYLOAD_DEFAULTS, payloadSize, readLargePayloadConfig } from './large-payload.ts'

/** When a result is large, as policy data. Every limit that is set counts; above any of them is large. */
export interface IntakeTrigger {
  readonly items?: number
  readonly chars?: number
  readonly bytes?: number
  readonly lines?: number
}

export type Design = 'autosre' | 'cyber-autoagent' | 'contextguard' | 'adk-code' | 'ai-agent'

/** The five designs' own numbers. contextguard takes every result as it is. */
export const INTAKE_TRIGGERS: Readonly<Record<Design, IntakeTrigger>> = {
  autosre: { items: LARGE_PAYLOAD_DEFAULTS.thresholdItems, chars: LARGE_PAYLOAD_DEFAULTS.thresholdChars },
  'cyber-autoagent': { chars: CYBER_DEFAULTS.artifactChars },
  contextguard: {},
  'adk-code': { bytes: 10_240, lines: 256 },
  'ai-agent': { bytes: AI_AGENT_MAX_BYTES },
}

/** The designs' numbers with their environment variables applied. */
export function readTriggers(env: Environment): Readonly<Record<Design, IntakeTrigger>> {
  const sre = readLargePayloadConfig(env)
  return {
    ...INTAKE_TRIGGERS,
    autosre: sre.enabled ? { items: sre.thresholdItems, chars: sre.thresholdChars } : {},
    'cyber-autoagent': { chars: readCyberLimits(env).artifactChars },
  }
}

/** Whether an output is large, and by which limit. Text that is JSON counts its items. */
export function triggeredBy(output: string, trigger: IntakeTrigger): keyof IntakeTrigger | undefined {
  if (trigger.chars !== undefined && output.length > trigger.chars) return 'chars'
  if (trigger.bytes !== undefined && byteLength(output) > trigger.bytes) return 'bytes'
  if (trigger.lines !== undefined && countLines(output) > trigger.lines) return 'lines'
  return trigger.items !== undefined && itemsIn(output) > trigger.items ? 'items' : undefined
}

function itemsIn(output: string): number {
  if (!/^\s*[[{]/.test(output)) return 0
  try {
    return payloadSize(JSON.parse(output)).items
  } catch {
    return 0
  }
}
