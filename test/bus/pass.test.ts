// process: own - ends processes
import { wsconnect, type NatsConnection } from '@nats-io/transport-node'
import { BusPassesPort } from '../../core/identity/sessions/ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { needing } from '../support/components/needing.ts'
import { until } from '../support/until.ts'
import {
  closeClients,
  connectWith,
  credentialsFrom,
  listen,
  newPerson,
  publishRefusal,
  runJob,
  startBusFixture,
  type BusFixture,
} from './bus-fixture.ts'

const test = needing('nats')

let fixture: BusFixture
test.before(async () => {
  fixture = await startBusFixture()
  await credentialsFrom(fixture.service, 'credentials', fixture.service.adminToken)
})
test.after.always(async () => {
  await closeClients()
  await fixture?.stop()
})

/** As a browser does it: nothing but the cookie proves who connects. */
const withCookie = (pass: string | undefined): Promise<NatsConnection> =>
  wsconnect({
    servers: [fixture.websocketUrl],
    reconnect: false,
    timeout: 5_000,
    wsFactory: (url) => {
      const headers = pass === undefined ? {} : { cookie: `other=1; moorage_bus=${pass}` }
      // Beyond the browser's interface, Node's takes headers as well.
      const options = { headers } as unknown as string[]
      return Promise.resolve({ socket: new WebSocket(`${url.replace(/\/$/, '')}/bus`, options), encrypted: false })
    },
  })

const signIn = async (person: { username: string; password: string }) => {
  const answer = await fixture.service.send('POST', '/api/v1/user/signin', {
    body: { username: person.username, password: person.password },
  })
  const set = [answer.headers['set-cookie'] ?? []].flat()
  const cookie = (name: string) =>
    set.map((line) => new RegExp(`^${name}=([^;]*)`).exec(line)?.[1]).find((value) => value !== undefined)
  return {
    status: answer.status,
    pass: cookie('moorage_bus'),
    line: set.find((line) => line.startsWith('moorage_bus=')),
    session: cookie('moorage_session'),
    csrf: cookie('_csrf'),
  }
}

const signOut = ({ session, csrf }: Awaited<ReturnType<typeof signIn>>) =>
  fixture.service.send('GET', '/api/v1/user/signout', {
    headers: { cookie: `moorage_session=${session ?? ''}; _csrf=${csrf ?? ''}`, 'x-csrf-token': csrf ?? '' },
  })

/** A sign-in waits a second for its pass. On a busy machine it may go without one, so it is repeated. */
const signInWithPass = async (person: { username: string; password: string }) =>
  until('a pass', async () => {
    const signedIn = await signIn(person)
    if (signedIn.pass !== undefined || signedIn.status !== 200) return signedIn
    await signOut(signedIn)
    return undefined
  })

/** A server that has just taken the account over may refuse the first pass; the browser then signs in again. */
const signInAndConnect = async (person: { username: string; password: string }) =>
  until('a pass that the server takes', async () => {
    const signedIn = await signInWithPass(person)
    const opened = await withCookie(signedIn.pass).catch(() => undefined)
    if (opened !== undefined) return { ...signedIn, browser: opened }
    await signOut(signedIn)
    return undefined
  })

test('a sign-in gives the browser a pass that opens the own account and nothing else', async (t) => {
  const person = await newPerson(fixture.service)
  const { status, pass, line, browser } = await signInAndConnect(person)
  t.is(status, 200)
  t.regex(line ?? '', /HttpOnly/)
  const heard = listen(browser as never, 'natjobs.resp.r1')
  await browser.flush()
  const sender = await connectWith(
    await credentialsFrom(fixture.service, 'admin_credentials', fixture.service.adminToken),
  )
  sender.publish(`natjobs.resp.${person.id}.r1`, 'for the browser')
  await until('the message', () => (heard.heard.length > 0 ? true : undefined))
  t.regex((await publishRefusal(browser as never, 'natjobs.resp.r1')) ?? '', /permissions violation/i)
  await browser.close()
  await t.throwsAsync(withCookie(undefined), { message: /authori[sz]ation|authentication/i })
  await t.throwsAsync(withCookie(`${pass ?? ''}x`), { message: /authori[sz]ation|authentication/i })
})

test('a pass ends with its requested time or with the password', async (t) => {
  const person = await newPerson(fixture.service)
  const passes = fixture.service.running.container.resolve(BusPassesPort)
  const { pass, browser: long } = await signInAndConnect(person)
  const brief = await until('a brief pass', () =>
    passes.passFor({ userId: person.id as UserId, login: person.username }, 12),
  )
  const short = await withCookie(brief?.reveal())
  await short.closed()
  await long.flush()
  // The server still takes it within the second of its end.
  await until('its end', () =>
    withCookie(brief?.reveal()).then(
      (open) => open.close().then(() => undefined),
      () => true as const,
    ),
  )
  const body = { password: 'another-lantern-over-water-18' }
  t.true(
    (
      await fixture.service.send('PATCH', `/api/v1/admin/users/${person.username}`, {
        token: fixture.service.adminToken,
        body,
      })
    ).status < 300,
  )
  await runJob(fixture.service, 'bus.retireCredentials')
  await long.closed()
  await t.throwsAsync(withCookie(pass), { message: /authori[sz]ation|authentication/i })
})

test('a pass ends with the last session of the person', async (t) => {
  const person = await newPerson(fixture.service)
  const [first, second] = [await signInAndConnect(person), await signInWithPass(person)]
  const open = first.browser
  t.true((await signOut(first)).status < 400)
  await runJob(fixture.service, 'bus.retireCredentials')
  await open.flush()
  const given = await connectWith(await credentialsFrom(fixture.service, 'credentials', person.token))
  t.true((await signOut(second)).status < 400)
  await runJob(fixture.service, 'bus.retireCredentials')
  await open.closed()
  for (const { pass } of [first, second])
    await t.throwsAsync(withCookie(pass), { message: /authori[sz]ation|authentication/i })
  await given.flush()
})

test.serial('while the bus is away a sign-in succeeds without a pass', async (t) => {
  const person = await newPerson(fixture.service)
  await fixture.nats.kill()
  const away = await signIn(person)
  t.is(away.status, 200)
  t.falsy(away.pass)
  await fixture.nats.restart()
  await credentialsFrom(fixture.service, 'credentials', person.token)
})
