import { describe, expect, it } from 'vitest'
import { contextguardHeuristic } from '../../src/engine/presets/contextguard/estimate.ts'
import { codecs } from '../../src/formats/registry.ts'
import { clientSteps, scenarios } from '../../src/lab/simulator/simulate.ts'
import { referenceRun } from './reference-run.ts'

const codec = codecs.get('gemini')!
const named = (name: string) => scenarios.find((scenario) => scenario.name === name)!

describe('the scenario table', () => {
  it('has 92 rows with names of their own, the first 48 of them from the document', () => {
    expect(scenarios).toHaveLength(92)
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(92)
    expect(scenarios[47]!.name).toBe('8k_SequentialChain_NoUsageMetadata')
  })

  it.each(scenarios)('$name has the reference run of the design', (scenario) => {
    const { compactions, peakReal, overflows } = referenceRun(scenario)
    expect({ compactions, peakReal }).toEqual(scenario.reference)
    expect(overflows).toBe(0)
  })

  it('overflows in one row of the document when its own settings apply', () => {
    const rules = { factor: 2, fixedFrom200k: false }
    const over = scenarios.slice(0, 48).filter((scenario) => referenceRun(scenario, rules).overflows > 0)
    expect(over.map(({ name }) => name)).toEqual(['8k_NoUsageMetadata_BeyondDefault'])
    expect(referenceRun(over[0]!, rules)).toMatchObject({ overflows: 4, peakReal: 9_492 })
  })
})

describe('the client', () => {
  it.each(scenarios.filter(({ window }) => window <= 8_000))(
    '$name sends bodies that a strict provider takes',
    (row) => {
      for (const { body } of clientSteps(row)) expect(codec.check(JSON.parse(body))).toEqual([])
    },
  )

  it.each(['200k_InlineImages', '200k_LargeInlineDocuments', '200k_ToolDefinitionsDominateWindow', '8k_CodingAgent'])(
    '%s weighs what the table says, to the token',
    (name) => {
      const row = named(name)
      const free = { ...row, window: 100_000_000 }
      const last = [...clientSteps(free)].at(-1)!
      const heuristic = contextguardHeuristic(codec.decode(last.body))
      expect(Math.floor(heuristic * row.ratio)).toBe(referenceRun(free).peakReal)
    },
  )

  it('puts parallel results into one message and gives sequential ones a call each', () => {
    const parallel = [...clientSteps({ ...named('200k_ToolHeavy'), turns: 1 })]
    const sequential = [...clientSteps({ ...named('8k_CodingAgent'), turns: 1 })]
    expect(
      parallel.map(({ body }) =>
        codec
          .decode(body)
          .items.map(({ kind }) => kind)
          .join(' '),
      ),
    ).toEqual(['user', 'user call call call result result result'])
    expect(sequential.map(({ body }) => codec.decode(body).items.length)).toEqual([1, 3, 5, 7])
  })

  it('only ever appends', () => {
    const bodies = [...clientSteps({ ...named('8k_AlternatingToolAndText'), turns: 6 })].map(({ body }) => body)
    for (const [at, body] of bodies.slice(1).entries()) expect(body.startsWith(bodies[at]!.slice(0, -2))).toBe(true)
  })
})
