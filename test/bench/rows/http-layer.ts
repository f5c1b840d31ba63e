import { makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { compare, generatorNote, medianOf, ratioOf, readingOf } from '../measure.ts'
import { getRequest, loadOn } from '../requests.ts'
import { median } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import { note, type MeasureRow, type RowInput } from './row.ts'

/** A public route of the bench's own plugin: no credential, or it would be checked. */
const publicRequest = (path: string): string => getRequest(`/api/v1${path}`)
const pingPath = '/bench/ping/one/with/two'

/** Row 9. */
export const listOfFifty: MeasureRow = async (input) => {
  const { lab, bench } = input
  const { service } = await lab.onSqlite()
  const bare = await lab.twin('twins/list-twin.ts', {})
  const request = publicRequest('/bench/samples')
  const { ours, twin } = await compare(bench, 'a list of 50 from memory, 64 connections', {
    ours: { target: loadOn('list', service.port, request, 64), pid: service.pid },
    twin: { target: loadOn('list twin', bare.port, request, 64), pid: bare.pid },
  })
  return [
    {
      row: '9',
      what: 'list of 50 from memory',
      ours: readingOf(ours),
      against: 'node:http + JSON.stringify',
      twin: readingOf(twin),
      ...ratioOf(ours, twin),
      unit: 'x',
      bar: bars.list,
      ...note(generatorNote(ours, twin)),
    },
    await listFromSqlite(input),
  ]
}

/** The same with the query behind it; no goal names it, but it is what users ask for. */
const listFromSqlite = async ({ lab, bench }: RowInput): Promise<BenchLine> => {
  const { service, user, path } = await lab.onSqlite()
  bench.progress.doing('making 50 users')
  for (let index = 0; index < 50; index += 1) await makeUser(service, `listed-${String(index).padStart(2, '0')}`)
  const bare = await lab.twin('twins/sqlite-twin.ts', { path })
  const request = getRequest('/api/v1/users/search?q=listed&limit=50', user.token)
  const { ours, twin } = await compare(bench, 'a list of 50 from SQLite, 64 connections', {
    ours: { target: loadOn('search', service.port, request, 64), pid: service.pid },
    twin: { target: loadOn('search twin', bare.port, request, 64), pid: bare.pid },
  })
  return {
    row: '9 +',
    what: 'list of 50 users from SQLite',
    ours: readingOf(ours),
    against: 'node:http + better-sqlite3 + JSON.stringify',
    twin: readingOf(twin),
    ...ratioOf(ours, twin),
    unit: 'x',
    ...note('no bar: the goal is about the way from memory', generatorNote(ours, twin)),
  }
}

/** Row 10. */
export const manyRoutes: MeasureRow = async ({ lab, bench }) => {
  const { service: few } = await lab.onSqlite()
  const many = await lab.service({ name: 'service with 250 routes more', settings: { BENCH_BYSTANDERS: '250' } })
  const { ours, twin } = await compare(bench, '250 routes more, 64 connections', {
    ours: { target: loadOn('many routes', many.port, publicRequest(pingPath), 64), pid: many.pid },
    twin: { target: loadOn('few routes', few.port, publicRequest(pingPath), 64), pid: few.pid },
  })
  await many.stop()
  return [
    {
      row: '10',
      what: 'short answer, 250 routes more',
      ours: readingOf(ours),
      against: 'the service without them',
      twin: readingOf(twin),
      ...ratioOf(ours, twin),
      unit: 'x',
      bar: bars.manyRoutes,
      ...note(generatorNote(ours, twin)),
    },
  ]
}

/** Row 17: the CPU that a request costs more with the access log than without. */
export const accessLog: MeasureRow = async ({ lab, bench }) => {
  const loud = await lab.service({ name: 'service with access log' })
  const quiet = await lab.service({ name: 'service without access log', settings: { MOORAGE_LOG_LEVEL: 'error' } })
  const { ours, twin } = await compare(bench, 'the access log, 64 connections', {
    ours: { target: loadOn('with log', loud.port, publicRequest(pingPath), 64), pid: loud.pid },
    twin: { target: loadOn('without log', quiet.port, publicRequest(pingPath), 64), pid: quiet.pid },
  })
  await loud.stop()
  await quiet.stop()
  const differences = ours.slices.map((each, round) => each.cpuUs - (twin.slices[round]?.cpuUs ?? Number.NaN))
  return [
    {
      row: '17',
      what: 'CPU of an access log line',
      ours: readingOf(ours),
      against: 'the service with log level error',
      twin: readingOf(twin),
      value: median(differences),
      bestValue: medianOf(ours, 'cpuUs') - medianOf(twin, 'cpuUs'),
      unit: ' us',
      bar: bars.accessLog,
      note: "the median of the rounds' differences; 'best' is the difference of the medians",
    },
  ]
}
