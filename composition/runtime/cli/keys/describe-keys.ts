import type { CommonOptions } from '../../../part/command-context.ts'
import type { Describe } from '../../../part/describe.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { examples, withJson } from '../../../part/describe.ts'
import type { RetireOptions } from './rotate.ts'

export const describeKeys: Describe<RuntimeContext> = (program, run, context) => {
  const keys = program.command('keys').description('Keys of the key ring, which seal secrets in the database.')

  withJson(keys.command('init'))
    .description('Make the key ring before the first start, where instances get it as a secret. Needs no database.')
    .addHelpText('after', examples('MOORAGE_KEYRING=./keyring.json moorage keys init'))
    .action((options: CommonOptions) => run(async () => (await import('./keys.ts')).initKeys(context, options)))

  withJson(keys.command('status'))
    .description('Say which keys there are, how many values each seals, and with which one each instance seals.')
    .addHelpText(
      'after',
      examples('moorage keys status', 'moorage keys status --json | jq .keys') +
        '\n\nExits 1 when a value names a key that the key ring does not hold.',
    )
    .action((options: CommonOptions) => run(async () => (await import('./keys.ts')).keyStatus(context, options)))

  withJson(keys.command('add'))
    .description('Add a key that seals nothing yet, where instances have copies of the key ring.')
    .addHelpText(
      'after',
      examples('moorage keys add', 'scp data/keyring.json other:/var/lib/moorage/    then: moorage keys rotate') +
        '\n\nInstances that share one file need no `add`: `moorage keys rotate` does it.',
    )
    .action((options: CommonOptions) => run(async () => (await import('./rotate.ts')).addKey(context, options)))

  withJson(keys.command('rotate'))
    .description('Seal every value with a new key while the service runs.')
    .addHelpText(
      'after',
      examples('moorage keys rotate', 'moorage keys rotate --json') +
        '\n\nUses the key that `add` added, or adds one. First waits until every running instance has the key, and\n' +
        'changes nothing if one does not get it. A run that was interrupted is continued by the next one.\n' +
        'Exits 1 when a value cannot be opened: it is named and stays as it is.',
    )
    .action((options: CommonOptions) => run(async () => (await import('./rotate.ts')).rotateKeys(context, options)))

  withJson(keys.command('retire'))
    .argument('<key>', 'the id of the key, as `moorage keys status` shows it')
    .description('Remove an old key that no value needs.')
    .option('--forget-backups', 'no backup of the database is needed whose values the key seals')
    .addHelpText(
      'after',
      examples('moorage keys retire kek-0123456789ab --forget-backups') +
        '\n\nRefused while a value or an instance uses the key, and for ten minutes after the new key came into use.',
    )
    .action((key: string, options: RetireOptions) =>
      run(async () => (await import('./rotate.ts')).retireKey(context, options, key)),
    )
}
