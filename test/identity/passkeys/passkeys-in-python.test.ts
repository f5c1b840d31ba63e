// process: waiting - uses components
import { join } from 'node:path'
import { needing } from '../../support/components/needing.ts'
import { runCommand } from '../../support/components/run-command.ts'
import { clientSources, commandPath, pythonPackages, toolEnvironment } from '../../openapi/generators.ts'
import { startPasskeyService } from './passkey-service.ts'

const test = needing('generators')
const minutes = 5

test('python-fido2 reads the options, and its responses register and sign in', async (t) => {
  t.timeout(minutes * 60_000)
  const service = await startPasskeyService()
  t.teardown(() => service.stop())
  const password = 'a long passphrase'
  const body = { username: 'monty', email: 'monty@example.org', password, must_change_password: false }
  t.is((await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })).status, 201)
  const python = commandPath('python3', 'install Python 3.10 or newer')
  const program = join(clientSources, 'fido2', 'passkeys.py')
  const { stdout, stderr } = await runCommand(
    python,
    [program, service.baseUrl, await service.tokenFor('monty'), password],
    { environment: toolEnvironment({ PYTHONPATH: await pythonPackages('fido2') }) },
  )
  t.is(stderr, '')
  t.deepEqual(stdout.trim().split('\n'), [
    'options: localhost required',
    'register: 201 Python True',
    'sign in: 200',
    'again: PasskeyRefused',
  ])
})
