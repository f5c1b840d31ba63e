import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { kubectl, kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { runCommand } from '../support/components/run-command.ts'
import { echoPort, startStubKubelet } from '../support/components/stub-kubelet.ts'

const test = needing<{ command: (...args: string[]) => [string, string[]]; openStreams: () => Promise<number> }>('kubernetes', 'kubelet', 'kubectl')
const endings: (() => Promise<void>)[] = []

test.beforeEach(async (t) => {
  const server = (await kubernetes())!
  const file = (await kubectl())!
  const kubelet = await startStubKubelet(server)
  endings.push(() => kubelet.stop())
  const namespace = await server.createNamespace()
  await kubelet.runPod(namespace, 'web')
  t.context = {
    command: (...args) => [file, ['--kubeconfig', server.adminKubeconfigPath, '--namespace', namespace, ...args]],
    openStreams: () => kubelet.openStreams(),
  }
})

test.after.always(async () => {
  for (const end of endings) await end()
})

test('get lists the pod as running on the node', async (t) => {
  const result = await runCommand(...t.context.command('get', 'pods'))
  t.is(result.status, 0, result.stderr)
  t.regex(result.stdout, /^web\s+1\/1\s+Running/m)
})

test('logs prints the last lines', async (t) => {
  const result = await runCommand(...t.context.command('logs', 'web', '--tail=2'))
  t.regex(result.stdout, /^\S+\/web\/main line 4\n\S+\/web\/main line 5\n$/)
})

test('logs --follow continues until the reader leaves, and then closes at the kubelet', async (t) => {
  const child = spawn(...t.context.command('logs', 'web', '--follow'), { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.endsWith('line 8')) break
  }
  t.is(await t.context.openStreams(), 1)
  child.kill()
  for (let left = 100; left > 0 && (await t.context.openStreams()) > 0; left -= 1) await new Promise((resolve) => setTimeout(resolve, 50))
  t.is(await t.context.openStreams(), 0)
})

test('exec carries stdin, stdout, stderr and the exit status', async (t) => {
  const [file, args] = t.context.command('exec', '-i', 'web', '--', 'cat')
  t.like(await runCommand(file, args, { input: 'hello' }), { status: 0, stdout: 'hello', stderr: '' })
  t.like(await runCommand(...t.context.command('exec', 'web', '--', 'complain', 'no', 'wind')), { stdout: '', stderr: 'no wind\n' })
  t.is((await runCommand(...t.context.command('exec', 'web', '--', 'exit', '3'))).status, 3)
})

test('attach greets and repeats', async (t) => {
  const [file, args] = t.context.command('attach', '-i', 'web')
  t.is((await runCommand(file, args, { input: 'hello' })).stdout, 'attached to web/main\nhello')
})

test('port-forward carries a TCP connection to the pod', async (t) => {
  const child = spawn(...t.context.command('port-forward', 'web', `:${echoPort}`), { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    const port = Number(/:(\d+) ->/.exec(line)?.[1])
    const socket = connect(port, '127.0.0.1')
    socket.end('ahoy')
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    t.is(answer, 'ahoy')
  } finally {
    child.kill()
  }
})
