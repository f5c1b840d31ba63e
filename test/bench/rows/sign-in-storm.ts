import { makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { startLoadGenerator } from '../load/load-generator.ts'
import { ratio, median } from '../statistics.ts'
import { getRequest, loadOn, postRequest } from '../requests.ts'
import type { MeasureRow } from './row.ts'

/**
 * Some hundred requests a second: the server has time to spare, so that what is measured is waiting, not saturation.
 */
const connections = 4
const pauseMilliseconds = 5

/** Row 15: eight people sign in without end, and others go on asking. */
export const signInStorm: MeasureRow = async ({ lab, bench, run }) => {
  const { service, user } = await lab.onSqlite()
  const calm = loadOn('others', service.port, getRequest('/api/v1/user', user.token), connections, {
    pauseMilliseconds,
  })
  const stormy = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const person = await makeUser(service, `storm-${index}`)
      const body = { username: person.login, password: person.password, remember: false }
      return loadOn(`sign-in ${index}`, service.port, postRequest('/api/v1/user/signin', undefined, body), 1)
    }),
  )
  const storm = startLoadGenerator()
  const seconds = run.quick ? 2 : 3
  const rounds = bench.pace.rounds
  bench.progress.measuring('requests while 8 people sign in', bench.pace.warmUpSeconds + rounds * 2 * seconds)
  const idle: number[] = []
  const during: number[] = []
  let signIns = 0
  try {
    await bench.generator.slice(calm, bench.pace.warmUpSeconds)
    for (let round = 0; round < rounds; round += 1) {
      bench.progress.round(round + 1, rounds)
      idle.push((await bench.generator.slice(calm, seconds)).p99)
      const [others, ...signed] = await Promise.all([
        bench.generator.slice(calm, seconds),
        ...stormy.map((target) => storm.slice(target, seconds)),
      ])
      during.push(others.p99)
      signIns += signed.reduce((sum, each) => sum + each.answersInAll, 0)
      const failed = signed.find((each) => each.errors > 0)
      if (failed !== undefined) throw new Error(`a sign-in failed: ${failed.firstError}`)
    }
  } finally {
    storm.stop()
  }
  bench.record('p99 of others, idle and during sign-ins', [])
  return [
    {
      row: '15',
      what: "others' p99 while 8 sign in",
      ours: { p99Ms: median(during) },
      against: 'the same, idle',
      twin: { p99Ms: median(idle) },
      value: median(during.map((each, round) => ratio(each, idle[round] ?? 0))),
      bestValue: ratio(Math.min(...during), Math.min(...idle)),
      unit: 'x',
      bar: bars.signInStorm,
      note: `${Math.round(signIns / (rounds * seconds))} sign-ins a second beside about ${Math.round((connections * 1000) / (pauseMilliseconds + 1))} other requests`,
    },
  ]
}
