import type { ServerOptions } from '../../part/server-connection.ts'
import type { ContractOptions, IssueOptions, RevokeOptions } from './contracts.ts'
import type { LicensesInitOptions, LicensesVerifyOptions } from './licenses.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withJson, withServerAndJson } from '../../part/describe.ts'

const describeLicenses: Describe = (program, run, context) => {
  const licenses = program
    .command('licenses')
    .description('The certificate authority of licenses, and the check of a license without the service.')

  withJson(licenses.command('init'))
    .description(
      'Set up the certificate authority that signs licenses, and print its certificate. The key stays in ' +
        'the database, sealed.',
    )
    .option(
      '--organization <name>',
      'your name in the certificate of a new authority (default: that of the authority that it replaces, ' +
        'else "Moorage")',
    )
    .option('--certificate <file>', 'certificate of an authority of your own, PEM, with --key')
    .option('--key <file>', 'its private key: PKCS#8 in PEM, without a password')
    .option('--rotate', 'replace the present authority; its licenses stay valid')
    .addHelpText(
      'after',
      examples(
        'moorage licenses init --organization "Example, Inc."',
        'moorage licenses init --certificate ca.pem --key ca-key.pem',
        'moorage licenses init --rotate',
      ),
    )
    .action((options: LicensesInitOptions) =>
      run(async () => (await import('./licenses.ts')).licensesInit(context, options)),
    )

  licenses
    .command('verify')
    .argument('<file>', 'the license in PEM; - reads standard input')
    .description('Check a license as a verifier in a cluster does. Exit code 0: accepted; 1: refused.')
    .requiredOption('--ca <file>', 'certificates of the authorities, PEM, as GET /api/v1/licenses/ca.pem gives them')
    .option('--cluster <uid>', 'UID of the namespace kube-system of the cluster')
    .option('--feature <name>', 'a feature that must be licensed')
    .option('--crl <file>', 'revocation list, PEM, as GET /api/v1/licenses/crl.pem gives it')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      examples('moorage licenses verify --ca ca.pem --cluster 7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11 license.pem'),
    )
    .action((file: string, options: LicensesVerifyOptions) =>
      run(async () => (await import('./licenses.ts')).licensesVerify(context, options, file)),
    )
}

const describeContracts: Describe = (program, run, context) => {
  const contracts = program
    .command('contracts')
    .description('Contracts, their clusters and licenses, where the vendor runs the service.')
    .addHelpText(
      'after',
      `
Each of these commands asks a running server over HTTP, in your name: give it an access token with the scope read:contract
(write:contract to issue and to revoke).
${examples('export MOORAGE_SERVER=https://moorage.example.com MOORAGE_TOKEN=...', 'moorage contracts list --account acme', 'moorage contracts issue 42 --account acme --cluster 7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11 --out license.pem')}`,
    )
  const account = ['--account <name>', 'the organization that has the contract; your own account without it'] as const

  withServerAndJson(contracts.command('list'))
    .description('List the contracts of an account, the newest start first.')
    .option(...account)
    .addHelpText('after', examples('moorage contracts list', 'moorage contracts list --account acme --json'))
    .action((options: ContractOptions) =>
      run(async () => (await import('./contracts.ts')).contractsList(context, options)),
    )

  withServerAndJson(contracts.command('show'))
    .description('Show a contract with its clusters.')
    .argument('<id>', 'the id of the contract')
    .option(...account)
    .addHelpText('after', examples('moorage contracts show 42 --account acme'))
    .action((id: string, options: ContractOptions) =>
      run(async () => (await import('./contracts.ts')).contractsShow(context, options, id)),
    )

  withServerAndJson(contracts.command('issue'))
    .description('Issue the offline license of a bound cluster, and print it in PEM.')
    .argument('<id>', 'the id of the contract')
    .requiredOption('--cluster <uid>', 'UID of the namespace kube-system of the cluster')
    .option('--out <file>', 'write it to this file, which only you can read')
    .option(...account)
    .addHelpText(
      'after',
      examples(
        'moorage contracts issue 42 --account acme --cluster 7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11 --out license.pem',
        'kubectl create secret generic license --from-file=license.pem',
      ),
    )
    .action((id: string, options: IssueOptions) =>
      run(async () => (await import('./contracts.ts')).contractsIssue(context, options, id)),
    )

  withServerAndJson(contracts.command('licenses'))
    .description('List the licenses that were issued for a contract, the newest first. Only site admins can.')
    .argument('<id>', 'the id of the contract')
    .addHelpText('after', examples('moorage contracts licenses 42'))
    .action((id: string, options: ServerOptions) =>
      run(async () => (await import('./contracts.ts')).contractsLicenses(context, options, id)),
    )

  withServerAndJson(contracts.command('revoke'))
    .description('Revoke a contract with its licenses, or one of its licenses. Only site admins can.')
    .argument('<id>', 'the id of the contract')
    .option('--license <serial>', 'serial number of the only license to revoke, as `contracts licenses` shows it')
    .addHelpText(
      'after',
      examples(
        'moorage contracts revoke 42',
        'moorage contracts revoke 42 --license 86411392105339427041620917532861532017',
      ),
    )
    .action((id: string, options: RevokeOptions) =>
      run(async () => (await import('./contracts.ts')).contractsRevoke(context, options, id)),
    )
}

export const contractsCommands: Describe = (program, run, context) => {
  describeLicenses(program, run, context)
  describeContracts(program, run, context)
}
