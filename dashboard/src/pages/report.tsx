import type { Report, ReportFigure, ReportPart } from '../../../src/dashboard/page-types.ts'
import { tokens } from '../format.ts'
import { Card, Figure, Table, Text } from '../parts/basics.tsx'
import { Chart } from '../parts/chart.tsx'
import { Composition, loadLines } from './session/load.tsx'

/** The report of `inspect --html` or `replay --html`. */
export const ReportSections = ({ of: { sections } }: { of: Report }) => (
  <>
    {sections.map(({ title, about, figures, said, parts }) => (
      <section class="report">
        <h2>{title}</h2>
        <p class="dim">{about}</p>
        {figures !== undefined && <Figures of={figures} />}
        {said !== undefined && <p>{said}</p>}
        {parts.map((part) => (
          <Card title={part.title}>
            <Part of={part} />
          </Card>
        ))}
      </section>
    ))}
  </>
)

const Figures = ({ of: figures }: { of: readonly ReportFigure[] }) => (
  <dl class="figures">
    {figures.map(([name, value]) => (
      <Figure name={name} value={value} />
    ))}
  </dl>
)

function Part({ of: part }: { of: ReportPart }) {
  switch (part.kind) {
    case 'load':
      return <LoadChart of={part} />
    case 'composition':
      return <Composition x={(part.parts[0]?.tops ?? []).map((_, call) => call + 1)} parts={part.parts} />
    case 'figures':
      return <Figures of={part.figures} />
    case 'bars':
      return <Bars rows={part.rows} />
    case 'table':
      return <Rows of={part} />
    case 'texts':
      return part.texts.map(({ title, about, text }) => (
        <details>
          <summary>{title}</summary>
          <p class="dim">{about}</p>
          {text !== '' && <Text text={text} />}
        </details>
      ))
    case 'lines':
      return (
        <ul>
          {part.lines.map(({ text, state }) => (
            <li class={state}>{text}</li>
          ))}
        </ul>
      )
  }
}

type Of<Kind extends ReportPart['kind']> = Extract<ReportPart, { kind: Kind }>

function LoadChart({ of: { sent, whole, line, thresholds, marks, label } }: { of: Of<'load'> }) {
  const limit = line && { name: `${line.name} ${tokens(line.value)}`, values: sent.map(() => line.value) }
  return (
    <>
      <Chart
        x={sent.map((_, call) => call + 1)}
        lines={loadLines({ sent, whole, limit, thresholds })}
        marks={marks.map((at) => ({ at, isForced: false }))}
        label={label}
      />
    </>
  )
}

/** A bar and a figure for each row, the largest first. */
function Bars({ rows }: { rows: Of<'bars'>['rows'] }) {
  const most = Math.max(1, ...rows.map(({ value }) => value))
  return (
    <dl class="bars">
      {rows.map(({ name, value, label }) => (
        <div>
          <dt>{name}</dt>
          <dd>
            <div class="share">
              <i style={{ width: `${(100 * value) / most}%` }} />
            </div>
            <span class="dim">{label}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Rows({ of: { title, heads, rows } }: { of: Of<'table'> }) {
  const columns = heads.map((name, column) => ({
    name,
    isNumber: typeof rows[0]?.[column] === 'number',
    cell: (row: readonly (string | number)[]) => {
      const value = row[column] ?? ''
      return typeof value === 'number' ? tokens(value) : value
    },
  }))
  return <Table label={title} rows={rows} columns={columns} keyOf={(row) => row.join('\n')} />
}
