import { useMemo, useState } from 'preact/hooks'
import type { DashboardInfo, Series, SessionPage } from '../../../../src/dashboard/page-types.ts'
import type { Change, Spent } from '../../../../src/meter/session/spent.ts'
import { dollars, percent, short, tokens } from '../../format.ts'
import { Action, Card, Table } from '../../parts/basics.tsx'
import { kindText, toolsOf } from '../../../../src/meter/session/grid.ts'
import { ContextGrid, colourVariable, useCall } from '../../parts/grid.tsx'
import { linkTo } from '../../route.ts'
import { cardSvg, CARD_HEIGHT, CARD_WIDTH, inDark } from '../../../../src/meter/session/card.ts'
import { Load } from './load.tsx'

interface OverviewProps {
  readonly info: DashboardInfo
  readonly page: SessionPage
  readonly series: Series
  readonly spent: Spent | undefined
}

export function Overview({ info, page, series, spent }: OverviewProps) {
  const [at, go] = useCall(series)
  const compactedBefore = page.compactionList.filter(({ undone }) => !undone).map(({ beforeCall }) => beforeCall)
  const tools = useMemo(() => toolsOf(series), [series])
  if (series.calls.length === 0) return <Card title="No call yet">The first answer has not come.</Card>
  return (
    <>
      <div class="columns">
        <Card title="Context">
          <ContextGrid series={series} compactedBefore={compactedBefore} at={at} go={go} />
        </Card>
        <Card title="Where the tokens went">{spent !== undefined && <Kinds spent={spent} tools={tools} />}</Card>
      </div>
      {spent !== undefined && spent.changes.length > 0 && (
        <Card title="What to change">
          <ul class="changes">
            {spent.changes.map((change) => (
              <ChangeRow of={change} page={page} canCompare={info.source === 'files'} />
            ))}
          </ul>
        </Card>
      )}
      <Load page={page} series={series} tools={tools} at={at} go={go} />
      {spent !== undefined && <Largest spent={spent} page={page} />}
    </>
  )
}

function Kinds({ spent: { kinds }, tools }: { spent: Spent; tools: readonly string[] }) {
  const most = Math.max(...kinds.map((kind) => kind.tokens), 1)
  const [isLong, setLong] = useState(false)
  const shown = isLong ? kinds : kinds.slice(0, 9)
  return (
    <>
      <dl class="kinds">
        {shown.map(({ name, tokens: size, share, usd }) => (
          <div>
            <dt>{kindText(name)}</dt>
            <dd>
              <div class="share">
                <i style={{ width: `${(100 * size) / most}%`, background: `var(${colourVariable(name, tools)})` }} />
              </div>
              <b>{percent(share)}</b>
              <span>{short(size)}</span>
              <span>{usd === undefined ? '' : `≈ ${dollars(usd, 2)}`}</span>
            </dd>
          </div>
        ))}
      </dl>
      {kinds.length > shown.length && (
        <button class="link" onClick={() => setLong(true)}>
          Show all {kinds.length}
        </button>
      )}
    </>
  )
}

function Largest({ spent: { largest, again }, page: { tenant, session } }: { spent: Spent; page: SessionPage }) {
  const toItem = (identity: string) => linkTo('session', { tenant, session, tab: 'request', item: identity })
  return (
    <>
      <Card title="Largest items">
        <Table
          label="Largest items"
          rows={largest}
          keyOf={({ identity }) => identity}
          columns={[
            {
              name: 'item',
              cell: ({ identity, kind, tool = kind, target }) => (
                <a href={toItem(identity)}>{target === undefined ? tool : `${tool}: ${target}`}</a>
              ),
            },
            { name: 'tokens', isNumber: true, cell: (row) => tokens(row.tokens) },
            { name: '× times sent', isNumber: true, cell: ({ timesSent }) => tokens(timesSent) },
            { name: '= tokens sent', isNumber: true, cell: ({ sentTokens }) => tokens(sentTokens) },
            {
              name: 'dollars',
              isNumber: true,
              cell: ({ usd }) => (usd === undefined ? 'unknown' : `≈ ${dollars(usd, 2)}`),
            },
          ]}
        />
      </Card>
      {again.length > 0 && (
        <Card title="Read again">
          <Table
            label="Read again"
            rows={again}
            keyOf={({ target }) => target}
            columns={[
              { name: 'what', cell: ({ target }) => target },
              { name: 'reads', isNumber: true, cell: ({ reads }) => reads },
              { name: 'older results, tokens sent', isNumber: true, cell: ({ sentTokens }) => tokens(sentTokens) },
              {
                name: 'dollars',
                isNumber: true,
                cell: ({ usd }) => (usd === undefined ? 'unknown' : `≈ ${dollars(usd, 2)}`),
              },
            ]}
          />
        </Card>
      )}
    </>
  )
}

function ChangeRow({
  of: { text, why, setting, window },
  page,
  canCompare,
}: {
  of: Change
  page: SessionPage
  canCompare: boolean
}) {
  const { session } = page
  return (
    <li>
      <p>
        {text} <span class="dim">{why}.</span>
      </p>
      {setting !== undefined && (
        <Action
          name="Copy the setting"
          run={async () => {
            await navigator.clipboard.writeText(setting)
            return 'Copied.'
          }}
        />
      )}
      {window !== undefined &&
        (canCompare ? (
          <a class="button" href={linkTo('compare', { session, window: String(page.window), other: String(window) })}>
            Compare
          </a>
        ) : (
          <Action
            name="Copy the setting"
            run={async () => {
              await navigator.clipboard.writeText(`window: ${window}\n`)
              return 'Copied.'
            }}
          />
        ))}
    </li>
  )
}

/** The picture to share, drawn here as the terminal draws it. */
export function Share({ page, series, spent }: { page: SessionPage; series: Series; spent: Spent }) {
  const compactedBefore = page.compactionList.filter(({ undone }) => !undone).map(({ beforeCall }) => beforeCall)
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches
  const light = cardSvg({ figures: page, kinds: spent.kinds, series, compactedBefore })
  const svg = isDark ? inDark(light) : light
  const url = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  return (
    <span class="share-card">
      <Action name="Copy picture" run={() => copyPicture(url)} />
      <a href={url} download="plimsoll.svg">
        SVG
      </a>
    </span>
  )
}

async function copyPicture(url: string): Promise<string> {
  const image = new Image()
  image.src = url
  await image.decode()
  const canvas = document.createElement('canvas')
  canvas.width = CARD_WIDTH
  canvas.height = CARD_HEIGHT
  canvas.getContext('2d')!.drawImage(image, 0, 0)
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'))
  if (blob === null) return 'This browser cannot draw it.'
  await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })])
  return 'Copied.'
}
