import { PlimsollError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import { adkCode } from './adk-code.ts'
import { aiAgent } from './ai-agent/policy.ts'
import { autosre } from './autosre/policy.ts'
import { contextguard, contextguardWindow, slidingWindow } from './contextguard/policy.ts'
import { cyberAutoagent } from './cyber-autoagent/policy.ts'
import type { Environment } from './shared.ts'
import { plimsoll } from './plimsoll.ts'

export { adkCode, aiAgent, autosre, contextguard, contextguardWindow, cyberAutoagent, plimsoll, slidingWindow }

/** The presets by name, each made with the environment that it runs in. */
const PRESETS = {
  plimsoll: () => plimsoll,
  autosre,
  'cyber-autoagent': cyberAutoagent,
  contextguard: () => contextguard,
  'contextguard-window': () => contextguardWindow,
  'adk-code': adkCode,
  'ai-agent': aiAgent,
} satisfies Readonly<Record<string, (env: Environment) => Policy>>

export type PresetName = keyof typeof PRESETS

const isPreset = (name: string): name is PresetName => Object.hasOwn(PRESETS, name)

/** The presets with their documented numbers, by name. */
export const policies: ReadonlyMap<string, Policy> = new Map(
  Object.entries(PRESETS).map(([name, preset]) => [name, preset({})]),
)

/** A preset with the environment's variables applied. */
export function policyNamed(name: string, env: Environment = process.env): Policy {
  if (isPreset(name)) return PRESETS[name](env)
  throw new PlimsollError('bad-config', `There is no policy ${JSON.stringify(name)}.`, {
    advice: `Known policies: ${[...policies.keys()].join(', ')}.`,
  })
}
