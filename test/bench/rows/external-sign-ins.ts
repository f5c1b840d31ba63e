import { request } from 'undici'
import { connectProvider, makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { getRequest, loadOn } from '../requests.ts'
import type { BenchService } from '../service-process.ts'
import { median, ratio } from '../statistics.ts'
import type { MeasureRow } from './row.ts'

/** As many as a company's morning brings at once to one instance. */
const atOnce = 95
/** The server has time to spare without the sign-ins, so that what is measured is waiting, not saturation. */
const connections = 4
const pauseMilliseconds = 5

/** Sends as a browser does. `cookie` is that of the sign-in. */
const post = async (service: BenchService, path: string, body: object, cookie = '') => {
  const answer = await request(`${service.baseUrl}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify(body),
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}: ${text}`)
  return { json: JSON.parse(text) as { readonly url: string }, cookies: [answer.headers['set-cookie'] ?? []].flat() }
}

const signIn = async (service: BenchService, providerId: number, sub: string): Promise<void> => {
  const begun = await post(service, `/user/oauth2/${providerId}`, {})
  const { searchParams } = new URL(begun.json.url)
  const answer = { state: searchParams.get('state'), code: `${sub}.${searchParams.get('nonce')}` }
  await post(service, `/user/oauth2/${providerId}/callback`, answer, begun.cookies[0]?.split(';')[0])
}

/** Row 39: many people sign in with an identity provider in another process, and others go on asking. */
export const externalSignIns: MeasureRow = async ({ lab, bench, run }) => {
  const provider = await lab.twin('twins/provider-twin.ts', {})
  const settings = { MOORAGE_EGRESS_ALLOW: '127.0.0.1' }
  const service = await lab.service({ name: 'service with an identity provider', settings })
  const user = await makeUser(service, 'bench-ada')
  const id = await connectProvider(service, `http://127.0.0.1:${provider.port}`)
  const calm = loadOn('others', service.port, getRequest('/api/v1/user', user.token), connections, {
    pauseMilliseconds,
  })
  const people = Array.from({ length: atOnce }, (_, index) => `person${index}`)
  bench.progress.doing('letting everyone sign in once')
  for (const sub of people) await signIn(service, id, sub)
  const seconds = run.quick ? 2 : 3
  const { rounds } = bench.pace
  bench.progress.measuring(`requests while ${atOnce} people sign in`, bench.pace.warmUpSeconds + rounds * 2 * seconds)
  const idle: { readonly p50: number; readonly p99: number }[] = []
  const during: typeof idle = []
  let signIns = 0
  await bench.generator.slice(calm, bench.pace.warmUpSeconds)
  for (let round = 0; round < rounds; round += 1) {
    bench.progress.round(round + 1, rounds)
    idle.push(await bench.generator.slice(calm, seconds))
    const until = performance.now() + seconds * 1000
    const everyone = Promise.all(
      people.map(async (sub) => {
        for (; performance.now() < until; signIns += 1) await signIn(service, id, sub)
      }),
    )
    during.push(await bench.generator.slice(calm, seconds))
    await everyone
  }
  bench.record('others, idle and during external sign-ins', [])
  const line = (which: 'p50' | 'p99') => ({
    row: '39',
    what: `others' ${which} while ${atOnce} sign in with a provider`,
    ours: { p99Ms: median(during.map((each) => each[which])) },
    against: 'the same, idle',
    twin: { p99Ms: median(idle.map((each) => each[which])) },
    value: median(during.map((each, round) => ratio(each[which], idle[round]?.[which] ?? 0))),
    bestValue: ratio(Math.min(...during.map((each) => each[which])), Math.min(...idle.map((each) => each[which]))),
    unit: 'x',
    bar: bars.externalSignIns,
    note: `${Math.round(signIns / (rounds * seconds))} sign-ins a second`,
  })
  return [line('p50'), line('p99')]
}
