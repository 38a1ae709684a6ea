/** A session that can be run under any policy: the client's messages, the tools' results, and how the provider counts. */
export interface Scenario {
  readonly name: string
  /** The provider's window, in tokens. */
  readonly window: number
  /** Length of the system prompt in characters. */
  readonly system: number
  readonly turns: number
  /** The provider's tokens for each token of the bytes / 4 heuristic. */
  readonly ratio: number
  /** Whether the provider reports usage; a number means from that turn on. */
  readonly usage: boolean | number
  readonly tools?: ToolSet
  readonly turn: (index: number) => Turn
  readonly toolName: (tool: number) => string
  /** The fewest compactions by the document's assertions. */
  readonly minCompactions: number
  /** Number of compactions and highest prompt of the reference run. */
  readonly reference: { readonly compactions: number; readonly peakReal: number }
}

/** One turn: a user message, tool calls, and a closing text. Sizes are in characters. */
export interface Turn {
  readonly user: number
  readonly media?: readonly Blob[]
  /** Results in one message. */
  readonly parallel?: readonly number[]
  /** Results of successive model calls. */
  readonly sequential?: readonly number[]
  /** Index of the turn's first tool in the scenario's list. @default 0 */
  readonly firstTool?: number
  /** Characters of the closing text, without its first words. @default 120 */
  readonly reply?: number
}

export interface Blob {
  readonly mime: string
  readonly bytes: number
}

export interface ToolSet {
  readonly count: number
  /** Tokens of all declarations together, by the bytes / 4 heuristic. */
  readonly tokens: number
}

const closing = (index: number): string => `Turn ${index} analysis: `
const DEFAULT_REPLY = 120

/** The model's closing text, of the length in the scenario. */
export function replyText(
  index: number,
  { reply = DEFAULT_REPLY }: Turn,
  filler: (characters: number) => string,
): string {
  return closing(index) + filler(reply)
}

/**
 * The 92 rows of contextguard's scenario table. `NO`: no overflow; `NL`: no loop; `C≥n`: at least n compactions. The last two numbers are
 * compactions and highest prompt of the reference run. The first 48 rows are the document's 47 tests.
 */

/** The document's tool declarations: their number, and their tokens together. */
const TOOLS = {
  '20x2k': { count: 20, tokens: 11_340 },
  '10x1k': { count: 10, tokens: 3_040 },
  '50x4k': { count: 50, tokens: 56_420 },
  '8x800': { count: 8, tokens: 1_920 },
  '30x3k': { count: 30, tokens: 25_920 },
  '15x1.5k': { count: 15, tokens: 6_525 },
  '10x1.2k': { count: 10, tokens: 3_690 },
  '5x600': { count: 5, tokens: 1_040 },
  '25x2.5k': { count: 25, tokens: 17_475 },
} as const satisfies Record<string, ToolSet>

type Options = Pick<Scenario, 'window' | 'system' | 'turns' | 'ratio' | 'usage' | 'tools'> & {
  /**
   * Lengths of the tools' names, in the order of the turn's content; the last one applies to the rest. The table does not contain them: with these
   * lengths our figures equal its reference figures to the token. @default 6
   */
  readonly names?: Sizes
}
type Length = number | ((index: number) => number)
type Sizes = readonly number[]

/** A message that contains the turn's number, so it is one character longer for each additional digit. */
const near =
  (length: number) =>
  (index: number): number =>
    length + String(index).length - 1

const times = (count: number, size: number): number[] => Array.from({ length: count }, () => size)
const png = (bytes: number): Blob => ({ mime: 'image/png', bytes })
const jpeg = (bytes: number): Blob => ({ mime: 'image/jpeg', bytes })
const pdf = (bytes: number): Blob => ({ mime: 'application/pdf', bytes })

interface Each {
  readonly user: Length
  readonly reply?: number
  readonly parallel?: Sizes
  readonly sequential?: Sizes
  readonly media?: readonly Blob[]
  /** Additional results in each n-th turn. */
  readonly also?: readonly [every: number, sizes: Sizes]
  /** The first entry whose number divides the turn's number applies. */
  readonly firstOf?: readonly (readonly [every: number, sizes: Sizes])[]
  readonly mediaEvery?: readonly [every: number, media: readonly Blob[]]
}

const hits = (index: number, rule: readonly [number, unknown] | undefined): boolean =>
  rule !== undefined && index % rule[0] === 0

function each({ user, reply, parallel, sequential, media, also, firstOf = [], mediaEvery }: Each): Scenario['turn'] {
  return (index) => {
    const rule = firstOf.findIndex((candidate) => hits(index, candidate))
    const sizes = parallel ?? firstOf[rule]?.[1]
    const results = sizes === undefined ? [] : [...sizes, ...(hits(index, also) ? also![1] : [])]
    const before = firstOf.slice(0, Math.max(0, rule)).reduce((sum, [, skipped]) => sum + skipped.length, 0)
    const blobs = media ?? (hits(index, mediaEvery) ? mediaEvery![1] : [])
    return {
      user: typeof user === 'number' ? user : user(index),
      ...(blobs.length > 0 && { media: blobs }),
      ...(results.length > 0 && { parallel: results }),
      sequential,
      reply,
      ...(before > 0 && { firstTool: before }),
    }
  }
}

const script =
  (...turns: Turn[]): Scenario['turn'] =>
  (index) =>
    turns[index]!

const cycle =
  (...turns: Turn[]): Scenario['turn'] =>
  (index) =>
    turns[index % turns.length]!

function row(
  name: string,
  { names = [6], ...options }: Options,
  turn: Scenario['turn'],
  asserts: string,
  [compactions, peakReal]: readonly [number, number],
): Scenario {
  const minCompactions = Number(/C≥(\d+)/.exec(asserts)?.[1] ?? 0)
  const toolName = (tool: number): string => nameOf(tool, names[tool] ?? names.at(-1)!)
  return { name, ...options, turn, toolName, minCompactions, reference: { compactions, peakReal } }
}

const nameOf = (tool: number, length: number): string => `t${tool.toString(36)}`.padEnd(length, '_')

// One line per row, as in the document.
// prettier-ignore
export const scenarios: readonly Scenario[] = [
  row('200k_NormalConversation', { window: 200_000, system: 2_000, turns: 30, ratio: 2.0, usage: true }, each({ user: near(167) }), 'NO NL', [0, 5_472]),
  row('200k_ToolHeavy', { window: 200_000, system: 3_000, turns: 20, ratio: 2.0, usage: true, names: [14, 18, 18] }, each({ user: near(50), parallel: [10_000, 5_000, 20_000] }), 'NO C≥1', [1, 178_184]),
  row('200k_SingleGiantToolResponse', { window: 200_000, system: 2_000, turns: 3, ratio: 2.0, usage: true, names: [18] }, script({ user: 40, parallel: [300_000] }, { user: 50 }, { user: 48 }), 'NO', [0, 151_230]),
  row('200k_ToolBurst_10Parallel', { window: 200_000, system: 2_000, turns: 3, ratio: 2.0, usage: true, names: [6, 6, 6, 10, 10, 6] }, script({ user: 45, parallel: [...times(10, 5_000)] }, { user: 44 }, { user: 23, parallel: [2_000, 10_000] }), 'NO', [0, 32_366]),
  row('200k_NoUsageMetadata', { window: 200_000, system: 2_000, turns: 25, ratio: 2.5, usage: false }, each({ user: near(65), parallel: [8_000] }), 'NO', [0, 129_727]),
  row('200k_LongRunning_50Turns', { window: 200_000, system: 3_000, turns: 50, ratio: 2.2, usage: true }, each({ user: near(107), firstOf: [[3, [5_000, 15_000]]] }), 'NO NL', [1, 173_188]),
  row('200k_HighTokenRatio', { window: 200_000, system: 5_000, turns: 15, ratio: 3.0, usage: true }, each({ user: near(41), parallel: [10_000] }), 'NO', [0, 118_443]),
  row('200k_VeryHighTokenRatio_4x', { window: 200_000, system: 3_000, turns: 10, ratio: 4.0, usage: true, names: [10] }, each({ user: 42, parallel: [20_000] }), 'NO', [1, 164_736]),
  row('200k_LargeSystemPrompt', { window: 200_000, system: 50_000, turns: 20, ratio: 2.0, usage: true }, each({ user: near(29), parallel: [5_000] }), 'NO', [0, 76_852]),
  row('200k_MassiveToolBurst', { window: 200_000, system: 3_000, turns: 2, ratio: 2.0, usage: true }, script({ user: 35, parallel: [...times(15, 50_000)] }, { user: 40 }), 'NO C≥1', [1, 1_692]),
  row('200k_RepeatedCompactions', { window: 200_000, system: 5_000, turns: 60, ratio: 2.0, usage: true, names: [6, 10] }, each({ user: near(56), firstOf: [[2, [30_000, 10_000]]] }), 'NO C≥2', [3, 164_584]),
  row('200k_LateUsageMetadata/phase1', { window: 200_000, system: 2_000, turns: 5, ratio: 2.0, usage: false }, each({ user: 34, parallel: [5_000] }), 'NO', [0, 13_922]),
  row('200k_LateUsageMetadata/phase2', { window: 200_000, system: 2_000, turns: 20, ratio: 2.5, usage: true }, each({ user: near(35), parallel: [10_000] }), 'NO', [0, 128_640]),
  row('200k_100Turns_MixedWorkload', { window: 200_000, system: 5_000, turns: 100, ratio: 2.3, usage: true, names: [10, 10, 10, 6] }, each({ user: near(95), firstOf: [[10, [50_000]], [5, [2_000, 5_000]], [3, [1_000]]] }), 'NO NL', [2, 177_463]),
  row('8k_NormalConversation', { window: 8_000, system: 500, turns: 20, ratio: 1.8, usage: true }, each({ user: 800 }), 'NO C≥1', [1, 6_060]),
  row('8k_SmallToolCalls', { window: 8_000, system: 500, turns: 15, ratio: 1.8, usage: true, names: [10] }, each({ user: 500, parallel: [1_000] }), 'NO C≥1', [1, 6_183]),
  row('8k_LargeToolResponse', { window: 8_000, system: 500, turns: 3, ratio: 1.8, usage: true }, script({ user: 61, parallel: [20_000] }, { user: 46 }, { user: 29 }), 'C≥1', [1, 469]),
  row('8k_NoUsageMetadata', { window: 8_000, system: 300, turns: 25, ratio: 2.0, usage: false }, each({ user: 800, parallel: [1_500] }), 'NO C≥1', [6, 5_010]),
  row('8k_LongRunning_40Turns', { window: 8_000, system: 500, turns: 40, ratio: 1.8, usage: true }, each({ user: 600 }), 'NO C≥2', [2, 6_276]),
  row('8k_ToolBurst', { window: 8_000, system: 500, turns: 3, ratio: 1.8, usage: true, names: [6, 6, 3] }, script({ user: 38, parallel: [...times(3, 3_000)] }, { user: 36 }, { user: 19, parallel: [1_000, 2_000] }), 'NO', [0, 5_846]),
  row('8k_HighTokenRatio', { window: 8_000, system: 300, turns: 20, ratio: 3.0, usage: true }, each({ user: 600, parallel: [1_000] }), 'NO C≥1', [4, 6_219]),
  row('8k_LargeSystemPrompt', { window: 8_000, system: 8_000, turns: 15, ratio: 1.8, usage: true }, each({ user: 600 }), 'NO C≥1', [1, 6_188]),
  row('8k_OnlyToolResponses', { window: 8_000, system: 200, turns: 10, ratio: 2.0, usage: true }, each({ user: 11, parallel: [5_000] }), 'NO C≥1', [3, 5_444]),
  row('8k_RapidFireShortMessages', { window: 8_000, system: 200, turns: 80, ratio: 1.8, usage: true }, each({ user: 400 }), 'NO C≥2', [3, 6_300]),
  row('8k_RepeatedCompactions', { window: 8_000, system: 500, turns: 40, ratio: 1.8, usage: true }, each({ user: 400, parallel: [2_000] }), 'NO C≥3', [6, 6_325]),
  row('8k_AlternatingToolAndText', { window: 8_000, system: 400, turns: 30, ratio: 2.0, usage: true }, each({ user: 500, firstOf: [[2, [3_000]]] }), 'NO C≥2', [5, 6_264]),
  row('CompactionNoInfiniteLoop', { window: 8_000, system: 12_000, turns: 5, ratio: 2.5, usage: true }, each({ user: 500 }), 'NL', [5, 7_740]),
  row('8k_ToolResponseBiggerThanWindow', { window: 8_000, system: 500, turns: 3, ratio: 2.0, usage: true }, script({ user: 29, parallel: [40_000] }, { user: 24 }, { user: 21 }), 'C≥1', [1, 508]),
  row('8k_EveryTurnExceedsWindow', { window: 8_000, system: 500, turns: 15, ratio: 2.0, usage: true }, each({ user: 2_000, parallel: [15_000] }), 'C≥10', [15, 1_418]),
  row('8k_NoUsageMetadata_HighRatio', { window: 8_000, system: 500, turns: 20, ratio: 2.0, usage: false }, each({ user: 700, parallel: [2_000] }), 'NO C≥1', [5, 5_064]),
  row('8k_NoUsageMetadata_BeyondDefault', { window: 8_000, system: 400, turns: 15, ratio: 3.0, usage: false }, each({ user: 600, parallel: [1_500] }), 'C≥1 NL', [3, 7_542]),
  row('8k_150Turns', { window: 8_000, system: 300, turns: 150, ratio: 1.8, usage: true }, each({ user: 300, firstOf: [[5, [1_000]]] }), 'NO C≥5 NL', [6, 6_391]),
  row('200k_ConsecutiveMassiveBursts', { window: 200_000, system: 5_000, turns: 10, ratio: 2.5, usage: true, names: [6, 10] }, each({ user: 49, parallel: [80_000, 30_000] }), 'NO C≥1', [3, 141_175]),
  row('200k_NoUsageMetadata_LongSession', { window: 200_000, system: 3_000, turns: 80, ratio: 2.5, usage: false }, each({ user: near(39), parallel: [20_000] }), 'NO', [5, 178_895]),
  row('8k_SystemPromptLargerThanWindow', { window: 8_000, system: 15_000, turns: 10, ratio: 2.0, usage: true }, each({ user: 400 }), 'NL', [10, 7_692]),
  row('8k_ToolChain_MultipleRoundtrips', { window: 8_000, system: 500, turns: 10, ratio: 2.0, usage: true, names: [6, 10, 18, 18, 22] }, each({ user: 29, parallel: [3_000, 2_000, 1_500, 2_500, 1_000] }), 'NO C≥1', [5, 5_628]),
  row('8k_AlternatingHugeAndTiny', { window: 8_000, system: 300, turns: 30, ratio: 2.0, usage: true, names: [10] }, cycle({ user: 2 }, { user: 300, parallel: [10_000] }), 'NO', [7, 5_840]),
  row('200k_TokenRatio_5x', { window: 200_000, system: 3_000, turns: 10, ratio: 5.0, usage: true, names: [10] }, each({ user: 59, parallel: [15_000] }), 'NO', [1, 175_135]),
  row('8k_CompactionEveryStep', { window: 8_000, system: 4_000, turns: 30, ratio: 2.0, usage: true }, each({ user: 1_200, parallel: [4_000] }), 'NO NL', [15, 5_450]),
  row('200k_SingleTurnFillsWindow', { window: 200_000, system: 3_000, turns: 2, ratio: 2.0, usage: true }, script({ user: 52, parallel: [...times(20, 30_000)] }, { user: 18 }), 'NO', [1, 1_692]),
  row('8k_CorrectionFactorDrift', { window: 8_000, system: 400, turns: 20, ratio: 1.5, usage: true }, each({ user: 500, parallel: [1_500] }), 'NO', [2, 6_144]),
  row('8k_EmptyToolResponses', { window: 8_000, system: 300, turns: 25, ratio: 2.0, usage: true }, each({ user: 600, parallel: [5, 10, 3] }), 'NO', [1, 6_322]),
  row('200k_200Turns', { window: 200_000, system: 5_000, turns: 200, ratio: 2.2, usage: true, names: [10, 6, 6, 6] }, each({ user: near(74), firstOf: [[15, [40_000]], [7, [3_000, 8_000]], [4, [500]]] }), 'NO NL', [2, 179_966]),
  row('8k_VeryLargeModelResponses', { window: 8_000, system: 300, turns: 20, ratio: 2.0, usage: true }, each({ user: 300, reply: 2_000 }), 'NO C≥1', [3, 6_090]),
  row('8k_JSON_Heavy_ToolResponses', { window: 8_000, system: 400, turns: 15, ratio: 3.5, usage: true, names: [10] }, each({ user: near(31), parallel: [3_000] }), 'NO C≥1', [5, 6_279]),
  row('8k_SequentialToolChain', { window: 8_000, system: 500, turns: 8, ratio: 2.0, usage: true, names: [6, 6, 10, 10, 10] }, each({ user: 32, sequential: [2_000, 1_500, 2_500, 1_000, 1_500] }), 'NO C≥1', [5, 6_136]),
  row('200k_SequentialToolChain_LargeResponses', { window: 200_000, system: 3_000, turns: 5, ratio: 2.0, usage: true, names: [6, 6, 6, 14, 14] }, each({ user: 38, sequential: [40_000, 20_000, 30_000, 15_000, 5_000] }), 'NO', [1, 167_034]),
  row('8k_SequentialChain_NoUsageMetadata', { window: 8_000, system: 400, turns: 10, ratio: 2.0, usage: false, names: [14] }, each({ user: 32, sequential: [1_000, 800, 1_200] }), 'NO C≥1', [3, 5_082]),
  row('200k_HeavyToolDefinitions', { window: 200_000, system: 3_000, turns: 30, ratio: 2.0, usage: true, tools: TOOLS['20x2k'], names: [10] }, each({ user: near(55), parallel: [5_000, 8_000] }), 'NO C≥1', [1, 176_724]),
  row('8k_HeavyToolDefinitions', { window: 8_000, system: 400, turns: 20, ratio: 2.0, usage: true, tools: TOOLS['10x1k'] }, each({ user: near(23), parallel: [1_500] }), 'NO C≥1', [40, 6_472]),
  row('200k_ToolDefinitionsDominateWindow', { window: 200_000, system: 5_000, turns: 20, ratio: 2.5, usage: true, tools: TOOLS['50x4k'], names: [10] }, each({ user: near(49), parallel: [10_000, 15_000, 5_000] }), 'NO', [10, 163_347]),
  row('8k_ToolDefinitionsNoUsageMetadata', { window: 8_000, system: 300, turns: 15, ratio: 2.0, usage: false, tools: TOOLS['8x800'], names: [10] }, each({ user: near(27), parallel: [1_000] }), 'NO', [7, 5_118]),
  row('200k_ToolDefinitionsHighRatio', { window: 200_000, system: 4_000, turns: 15, ratio: 3.5, usage: true, tools: TOOLS['30x3k'], names: [10] }, each({ user: near(36), parallel: [20_000, 10_000] }), 'NO', [3, 173_936]),
  row('200k_InlineImages', { window: 200_000, system: 2_000, turns: 15, ratio: 2.0, usage: true }, each({ user: near(60), media: [png(100_000)] }), 'NO C≥1', [3, 151_406]),
  row('8k_InlineSmallImages', { window: 8_000, system: 200, turns: 10, ratio: 2.0, usage: true }, each({ user: 32, media: [png(10_000)] }), 'NO', [5, 5_288]),
  row('200k_LargeInlineDocuments', { window: 200_000, system: 2_000, turns: 3, ratio: 2.0, usage: true }, script({ user: 23, media: [pdf(500_000)] }, { user: 37, media: [pdf(300_000)] }, { user: 29 }), 'NO', [1, 151_274]),
  row('200k_MultipleInlinePerTurn', { window: 200_000, system: 2_000, turns: 8, ratio: 2.0, usage: true }, each({ user: 51, media: [png(80_000), jpeg(60_000), png(90_000)] }), 'NO C≥1', [4, 116_204]),
  row('200k_ToolDefsAndInlineImages', { window: 200_000, system: 3_000, turns: 20, ratio: 2.5, usage: true, tools: TOOLS['15x1.5k'], names: [10] }, each({ user: near(48), parallel: [5_000], mediaEvery: [3, [png(50_000)]] }), 'NO', [1, 179_125]),
  row('200k_ToolDefsAndInlineNoUsageMetadata', { window: 200_000, system: 2_000, turns: 15, ratio: 2.0, usage: false, tools: TOOLS['10x1.2k'], names: [10] }, each({ user: near(41), parallel: [3_000], mediaEvery: [2, [jpeg(30_000)]] }), 'NO', [1, 135_824]),
  row('8k_ToolDefsAndInlineCombined', { window: 8_000, system: 300, turns: 20, ratio: 2.0, usage: false, tools: TOOLS['5x600'] }, each({ user: near(16), parallel: [800], mediaEvery: [4, [png(5_000)]] }), 'NO', [5, 4_742]),
  row('200k_KubeAgent', { window: 200_000, system: 5_000, turns: 20, ratio: 2.5, usage: true, names: [18, 22, 18] }, each({ user: near(89), parallel: [15_000, 10_000, 25_000] }), 'NO C≥1', [3, 160_852]),
  row('8k_KubeAgent', { window: 8_000, system: 500, turns: 10, ratio: 2.0, usage: true }, each({ user: 22, parallel: [5_000, 3_000, 8_000] }), 'NO C≥1', [10, 442]),
  row('200k_KubeAgent_30Rounds', { window: 200_000, system: 5_000, turns: 30, ratio: 2.5, usage: true, names: [18, 22, 18] }, each({ user: near(93), reply: 500, parallel: [20_000, 15_000, 40_000] }), 'NO NL', [7, 145_702]),
  row('200k_MixedDebugSession', { window: 200_000, system: 3_000, turns: 25, ratio: 2.2, usage: true, names: [14, 14, 14, 10] }, each({ user: near(100), firstOf: [[7, [20_000, 15_000]], [4, [500]], [3, [8_000]]] }), 'NO', [0, 105_908]),
  row('8k_MixedDebugSession', { window: 8_000, system: 500, turns: 20, ratio: 1.8, usage: true, names: [14, 14, 14] }, each({ user: near(78), firstOf: [[5, [3_000, 2_000]], [3, [200]]] }), 'NO', [1, 6_121]),
  row('200k_MixedDebugSession_LongInvestigation', { window: 200_000, system: 5_000, turns: 50, ratio: 2.3, usage: true, names: [10, 10, 10, 14, 18, 14] }, each({ user: near(68), reply: 300, firstOf: [[10, [30_000, 10_000]], [6, [20_000]], [4, [2_000, 1_500]], [3, [5_000]]] }), 'NO NL', [1, 176_851]),
  row('200k_PureToolStorm', { window: 200_000, system: 1_000, turns: 30, ratio: 2.0, usage: true, names: [10] }, each({ user: near(10), parallel: [5_000, 5_000] }), 'NO', [0, 153_672]),
  row('8k_PureToolStorm', { window: 8_000, system: 200, turns: 20, ratio: 1.8, usage: true }, each({ user: 2, parallel: [2_000] }), 'NO C≥1', [2, 6_084]),
  row('200k_PureToolStorm_HugeResponses', { window: 200_000, system: 1_000, turns: 20, ratio: 2.0, usage: true, names: [6, 10] }, each({ user: 4, parallel: [50_000, 20_000] }), 'NO C≥1', [3, 176_180]),
  row('8k_PureToolStorm_50Turns', { window: 8_000, system: 200, turns: 50, ratio: 2.0, usage: true }, each({ user: 3, parallel: [3_000] }), 'NO C≥3', [12, 6_360]),
  row('200k_CodingAgent', { window: 200_000, system: 8_000, turns: 15, ratio: 2.5, usage: true, names: [10] }, each({ user: near(77), reply: 400, sequential: [8_000, 2_000, 12_000] }), 'NO', [1, 179_570]),
  row('8k_CodingAgent', { window: 8_000, system: 800, turns: 10, ratio: 2.0, usage: true, names: [10] }, each({ user: 26, reply: 200, sequential: [3_000, 1_000, 4_000] }), 'NO C≥1', [6, 6_312]),
  row('200k_CodingAgent_DeepRefactor', { window: 200_000, system: 10_000, turns: 25, ratio: 2.5, usage: true, names: [6, 6, 10, 14, 18, 10] }, each({ user: near(83), reply: 600, sequential: [15_000, 5_000, 3_000, 10_000, 4_000, 20_000] }), 'NO NL', [5, 174_865]),
  row('8k_CodingAgent_NoUsageMetadata', { window: 8_000, system: 500, turns: 15, ratio: 2.0, usage: false, names: [10] }, each({ user: near(33), sequential: [2_000, 800, 3_000] }), 'NO C≥1', [7, 4_908]),
  row('4k_NormalConversation', { window: 4_000, system: 300, turns: 20, ratio: 1.8, usage: true }, each({ user: 600 }), 'NO C≥1', [2, 3_054]),
  row('4k_WithSmallTools', { window: 4_000, system: 200, turns: 10, ratio: 1.8, usage: true }, each({ user: 200, parallel: [500] }), 'NO C≥1', [1, 3_139]),
  row('4k_ToolResponseExceedsWindow', { window: 4_000, system: 200, turns: 3, ratio: 2.0, usage: true }, script({ user: 19, parallel: [20_000] }, { user: 24 }, { user: 11 }), 'C≥1', [1, 352]),
  row('4k_EveryTurnExceedsWindow', { window: 4_000, system: 200, turns: 20, ratio: 2.0, usage: true }, each({ user: 1_000, parallel: [8_000] }), 'C≥10', [20, 768]),
  row('4k_KubeAgent', { window: 4_000, system: 300, turns: 10, ratio: 2.0, usage: true }, each({ user: 18, parallel: [3_000, 2_000, 5_000] }), 'C≥1', [10, 342]),
  row('4k_CodingAgent', { window: 4_000, system: 300, turns: 10, ratio: 2.0, usage: true, names: [10] }, each({ user: 14, sequential: [2_000, 500, 3_000] }), 'C≥1', [7, 3_128]),
  row('4k_MixedDebug', { window: 4_000, system: 200, turns: 15, ratio: 2.0, usage: true, names: [10, 14, 14] }, each({ user: near(23), firstOf: [[5, [3_000, 2_000]], [3, [200]]] }), 'NO', [2, 3_162]),
  row('4k_PureToolStorm', { window: 4_000, system: 100, turns: 20, ratio: 2.0, usage: true }, each({ user: 2, parallel: [2_000] }), 'C≥3', [6, 2_382]),
  row('1M_NormalConversation', { window: 1_000_000, system: 10_000, turns: 50, ratio: 2.0, usage: true }, each({ user: near(130), parallel: [10_000] }), 'NO', [0, 262_232]),
  row('1M_HeavyTools', { window: 1_000_000, system: 10_000, turns: 30, ratio: 2.0, usage: true, names: [6, 14, 14] }, each({ user: near(33), parallel: [50_000, 20_000, 30_000] }), 'NO', [1, 957_714]),
  row('1M_KubeAgent_ExtremeLongevity', { window: 1_000_000, system: 10_000, turns: 100, ratio: 2.0, usage: true, names: [14, 18, 18] }, each({ user: near(61), parallel: [30_000, 20_000, 50_000] }), 'NO NL', [5, 958_466]),
  row('1M_PureToolStorm_MonsterResponses', { window: 1_000_000, system: 5_000, turns: 50, ratio: 2.0, usage: true, names: [14] }, each({ user: 10, parallel: [100_000] }), 'NO', [2, 954_458]),
  row('1M_NoUsageMetadata', { window: 1_000_000, system: 5_000, turns: 40, ratio: 2.5, usage: false }, each({ user: near(58), parallel: [30_000, 15_000] }), 'NO', [1, 964_680]),
  row('200k_MagecProductionScenario', { window: 200_000, system: 8_000, turns: 30, ratio: 2.5, usage: true, tools: TOOLS['25x2.5k'], names: [10] }, each({ user: near(93), reply: 400, parallel: [8_000, 5_000], also: [6, [15_000, 10_000]], mediaEvery: [4, [png(80_000)]] }), 'NO NL', [5, 173_900]),
  row('200k_MagecProduction_NoUsageMetadata', { window: 200_000, system: 5_000, turns: 20, ratio: 2.5, usage: false, tools: TOOLS['20x2k'], names: [10] }, each({ user: near(37), parallel: [5_000], mediaEvery: [3, [png(50_000)]] }), 'NO', [1, 161_062]),
  row('200k_SequentialEscalatingSizes', { window: 200_000, system: 3_000, turns: 10, ratio: 2.0, usage: true, names: [6, 10, 18, 18, 14] }, each({ user: 38, sequential: [2_000, 5_000, 20_000, 40_000, 60_000] }), 'NO', [3, 162_654]),
  row('8k_SequentialEscalatingSizes', { window: 8_000, system: 300, turns: 10, ratio: 2.0, usage: true }, each({ user: 16, sequential: [500, 1_500, 3_000, 5_000] }), 'NO C≥1', [7, 6_318]),
  row('4k_SequentialEscalatingSizes', { window: 4_000, system: 200, turns: 8, ratio: 2.0, usage: true }, each({ user: 10, sequential: [300, 800, 2_000] }), 'C≥1', [4, 2_514]),
]
