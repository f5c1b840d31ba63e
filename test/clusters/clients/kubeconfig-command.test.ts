import test from 'ava'
import { parse } from 'yaml'
import { runCommandLine } from '../../../composition/moorage.ts'
import { makeKubeconfigFixture, type KubeconfigFixture } from './kubeconfig-fixture.ts'

/** Kubeconfigs of the service and the tokens in them. */
let fixture: KubeconfigFixture
test.before(async () => {
  fixture = await makeKubeconfigFixture()
})
test.after.always(() => fixture?.stop())

test('moorage kubeconfig explains each refusal and its remedy', async (t) => {
  const { service, owner, imported, version } = fixture
  const { at } = await imported()
  const run = async (words: readonly string[], token = owner.token) => {
    const [out, err]: [string[], string[]] = [[], []]
    const environment = { MOORAGE_SERVER: service.baseUrl, MOORAGE_TOKEN: token }
    const code = await runCommandLine(['kubeconfig', ...words], {
      environment,
      print: (text) => void out.push(text),
      say: (text) => void err.push(text),
    })
    return { code, out: out.join('\n'), err: err.join('\n') }
  }
  const printed = await run([at, '--command', '/opt/moorage'])
  t.is(printed.code, 0, printed.err)
  t.deepEqual(parse(printed.out).users[0].user.exec, {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/opt/moorage',
    args: ['kubeconfig', 'credential', at, '--server', service.baseUrl],
    interactiveMode: 'Never',
    provideClusterInfo: false,
    installHint: 'Put moorage on the PATH, or make the kubeconfig again with --command and the path to it.',
  })
  const credential = JSON.parse((await run(['credential', at])).out) as {
    apiVersion: string
    kind: string
    status: { token: string; expirationTimestamp: string }
  }
  t.like(credential, { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' })
  const left = Date.parse(credential.status.expirationTimestamp) - Date.now()
  t.true(left > 0 && left <= 3_600_000)
  t.is((await version(at, credential.status.token)).status, 200)
  for (const words of [['prod'], ['credential', 'prod']])
    t.like(await run(words), { code: 2, err: 'A cluster is named as OWNER/CLUSTER, as acme/prod, not prod.' })
  for (const words of [['acme/none'], ['credential', 'acme/none']]) t.is((await run(words)).code, 1)
  for (const words of [[at], ['credential', at]]) {
    t.regex((await run([...words, '--server', 'http://127.0.0.1:9'])).err, /^http:\/\/127\.0\.0\.1:9 does not answer/)
    t.regex((await run([...words, '--server', 'moorage'])).err, /takes a URL/)
  }
  t.regex((await run([at], 'wrong')).err, /access token is not valid/)
  for (const words of [['--help'], ['credential', '--help']])
    for (const part of ['--server', '--token-file', 'MOORAGE_TOKEN', 'Examples:'])
      t.true((await run(words)).out.includes(part), part)
})
