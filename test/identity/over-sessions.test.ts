import { makeDropOverSessions } from '../../core/identity/sessions/sessions.ts'
import type { User, RememberedId } from '../../core/identity/types.ts'
import type { IdentityWorld } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'

const day = 24 * 3600
const going = () => new AbortController().signal
let used = 0
const hash = (): Uint8Array => {
  used += 1
  return new Uint8Array(32).fill(used % 256).fill(used >> 8, 0, 1)
}

const at = ({ deps }: IdentityWorld, seconds: number): Date => new Date(deps.clock.now().getTime() + seconds * 1000)
const sessionOf = (world: IdentityWorld, user: User, lifeSeconds: number, rememberedId?: RememberedId) =>
  world.deps.stores.sessions.insert({
    userId: user.id, hash: hash(), sourceIp: '', userAgent: '', createdAt: at(world, 0), idleExpiresAt: at(world, Math.min(3600, lifeSeconds)), expiresAt: at(world, lifeSeconds),
    ...(rememberedId === undefined ? {} : { rememberedId }),
  })
const rememberedOf = (world: IdentityWorld, user: User, lifeSeconds: number) =>
  world.deps.stores.rememberedLogins.insert({
    userId: user.id, seriesHash: hash(), secretHash: hash(), sourceIp: '', userAgent: '', createdAt: at(world, 0), expiresAt: at(world, lifeSeconds),
  })

onEachDatabase('sessions and remembered logins go a week after their end, and no others', async (t, world, db) => {
  const [ada, bob] = [await world.user('ada'), await world.user('bob')]
  const drop = makeDropOverSessions(world.deps)
  const ids = async (table: string) => (await db.query<{ id: number | string }>((k) => k(table).orderBy('id').select('id'))).map(({ id }) => Number(id))
  const [short, ofBob, long] = [await sessionOf(world, ada, day), await sessionOf(world, bob, day), await sessionOf(world, ada, 20 * day)]
  const [remembered, ending, living] = [await rememberedOf(world, ada, 30 * day), await rememberedOf(world, bob, 3 * day), await rememberedOf(world, bob, 3 * day)]
  const resumable = await sessionOf(world, ada, day, remembered)
  const [ended, still] = [await sessionOf(world, bob, day, ending), await sessionOf(world, bob, 20 * day, living)]
  world.passSeconds(8 * day - 60)
  t.is(await drop(going()), 0)
  world.passSeconds(120)
  t.is(await drop(going()), 2)
  t.deepEqual(await ids('sessions'), [long, resumable, ended, still], `not ${short} and ${ofBob}`)
  world.passSeconds(2 * day)
  t.is(await drop(going()), 1)
  t.deepEqual(await ids('remembered_logins'), [remembered, living], 'a session that lives keeps its login')
  t.deepEqual(await ids('sessions'), [long, resumable, still])
  world.passSeconds(60 * day)
  t.is(await drop(going()), 3)
  t.deepEqual([await ids('sessions'), await ids('remembered_logins')], [[], []])
})

onEachDatabase('more than one slice goes in one run, and a run that is stopped ends', async (t, world, db) => {
  const ada = await world.user('ada')
  const day1 = at(world, day).getTime()
  const rows = Array.from({ length: 1_203 }, (_, n) => ({
    user_id: ada.id, session_hash: Buffer.alloc(32, 7).fill(n & 255, 0, 1).fill(n >> 8, 1, 2), source_ip: '', user_agent: '', created_at: 1, last_seen_at: 1, idle_expires_at: day1, expires_at: day1,
  }))
  for (let from = 0; from < rows.length; from += 60) await db.query((k) => k('sessions').insert(rows.slice(from, from + 60)))
  world.passSeconds(9 * day)
  const drop = makeDropOverSessions(world.deps)
  t.is(await drop(AbortSignal.abort()), 0)
  t.is(await drop(going()), 1_203)
})
