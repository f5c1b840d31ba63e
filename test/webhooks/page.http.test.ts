// process: own - runs the commands and the receiver of the page, and ends the receiver
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'ava'
import type { ServiceFixture } from '../organizations/service-fixture.ts'
import { startFixture } from '../organizations/service-fixture.ts'

let fixture: ServiceFixture
test.before(async () => {
  fixture = await startFixture({ settings: { MOORAGE_EGRESS_ALLOW: '127.0.0.1' } })
})
test.after.always(() => fixture.stop())

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Waits until the program refuses what is not signed. */
const isUp = async (port: string): Promise<void> => {
  for (let at = 0; at < 200; at += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' }).catch(() => undefined)
    if (answer?.status === 400) return
    await sleep(50)
  }
}

/** The blocks of one language of the page, in their order. */
const blocksOf = (language: string): readonly string[] =>
  [...readFileSync('docs/webhooks.md', 'utf8').matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, each]) => each === language)
    .map(([, , text = '']) => text)

test('the page leads from a new webhook to verified events', async (t) => {
  const [create = '', send = ''] = blocksOf('')
  const [program = ''] = blocksOf('js')
  const port = String(await freePort())
  const token = await fixture.service.tokenFor('ada')
  const run = async (text: string): Promise<string> => {
    const script = text
      .replaceAll('https://moorage.example.com', fixture.service.baseUrl)
      .replaceAll('https://hooks.example.com/moorage', `http://127.0.0.1:${port}/`)
    const { stdout } = await promisify(execFile)('bash', ['-ec', script], { env: { ...process.env, TOKEN: token } })
    return stdout
  }
  const { secret } = JSON.parse(await run(create)) as { readonly secret: string }
  const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: port }
  const receiver = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await isUp(port)
    const lines = createInterface(receiver.stdout)
    const first = once(lines, 'line')
    await run(send)
    t.regex(String((await first)[0]), /^evt_test_\w+ webhook\.test ticket system$/)
    const next = once(lines, 'line')
    await fixture.as('ada', 'POST', '/orgs/acme/teams', { name: 'operators', permission: 'read' })
    t.regex(String((await next)[0]), /^evt_\d+ team\.created operators$/)
  } finally {
    receiver.kill()
  }
})
