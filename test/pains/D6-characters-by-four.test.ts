import { describe, expect, it } from 'vitest'
import { loadTiktoken } from '../../src/drivers/tokenizers/tokenizers.ts'
import { estimateTokens } from '../../src/meter/index.ts'

const base64 = Buffer.from(Array.from({ length: 3_000 }, (_, n) => (n * 7_919 + (n >> 3)) % 256)).toString('base64')
const TEXTS: Record<string, string> = {
  en: 'The harbour master wrote down the draught of every ship that passed the line, and nobody asked him why he did it. '.repeat(
    20,
  ),
  zh: '港务长记下了每一艘驶过水线的船只的吃水深度，没有人问他为什么这样做。系统在每次请求之前检查窗口。'.repeat(20),
  ja: '港長は線を越えたすべての船の喫水を書き留めたが、なぜそうするのかと尋ねる者はいなかった。'.repeat(20),
  ko: '항만장은 선을 지나는 모든 배의 흘수를 기록했지만 아무도 그 이유를 묻지 않았다.'.repeat(20),
  ar: 'كتب مدير الميناء غاطس كل سفينة تجاوزت الخط ولم يسأله أحد عن السبب في ذلك.'.repeat(20),
  code: 'export function limitOf(target: Target, buffer: number): Limit {\n  return { tokens: target.window - buffer }\n}\n'.repeat(
    20,
  ),
  JSON: '{"id":"a81f","name":"limit","values":[1,2.5,1024],"nested":{"ok":true,"error":null}}\n'.repeat(30),
  base64,
  emoji: 'All done 🎉🚢⚓️ and the tide is right 🌊🌊 😀👍🏽 '.repeat(30),
}

/** One sentence over and over is rarer than the prose that the weights were fitted on: the two scripts where that shows. */
const FLOORS: Record<string, number> = { ja: 0.79, ar: 0.85 }

describe('D6: the estimate of a text', async () => {
  const exact = { o200k: (await loadTiktoken('o200k'))!, cl100k: (await loadTiktoken('cl100k'))! }

  it.each(
    Object.entries(TEXTS).flatMap(([name, text]) =>
      (['o200k', 'cl100k'] as const).map((family) => [name, family, text] as const),
    ),
  )('of %s in %s is within -10 %% and +25 %%', (name, family, text) => {
    const ratio = estimateTokens(text, family).tokens / exact[family](text)
    expect(ratio).toBeGreaterThan(FLOORS[name] ?? 0.9)
    expect(ratio).toBeLessThan(1.25)
  })
})
