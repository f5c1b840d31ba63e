import type { ServerOptions } from '../../part/server-connection.ts'
import type { ListOptions } from './tasks.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withServerAndJson } from '../../part/describe.ts'

export const tasksCommands: Describe = (program, run, context) => {
  const tasks = program
    .command('tasks')
    .description(
      'Work that continues after its request was answered, such as installing a chart: list it, watch it, cancel it.',
    )
    .addHelpText(
      'after',
      `
Each of these commands asks a running server over HTTP, in your name: give it an access token with the scope read:cluster
(write:cluster to cancel).
${examples('export MOORAGE_SERVER=https://moorage.example.com MOORAGE_TOKEN=...', 'moorage tasks list --state running', 'moorage tasks watch 6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11')}`,
    )

  withServerAndJson(tasks.command('list'))
    .description('List your tasks, the newest first.')
    .option('--account <name>', 'all tasks of an account where you may connect to clusters')
    .option('--state <state>', 'queued, running, succeeded, failed, cancelled or unknown')
    .option('--kind <kind>', 'as packages.installRelease')
    .option('--cluster <cluster>', 'as the tasks name it')
    .option('--limit <number>', 'how many, 50 at most', '20')
    .addHelpText('after', examples('moorage tasks list', 'moorage tasks list --account acme --state failed --json'))
    .action((options: ListOptions) => run(async () => (await import('./tasks.ts')).tasksList(context, options)))

  withServerAndJson(tasks.command('show'))
    .description('Show the state of a task.')
    .argument('<id>', 'the id from the response')
    .addHelpText('after', examples('moorage tasks show 6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11'))
    .action((id: string, options: ServerOptions) =>
      run(async () => (await import('./tasks.ts')).tasksShow(context, options, id)),
    )

  withServerAndJson(tasks.command('watch'))
    .description(
      'Follow a task until its end. The command can be stopped and started again at any time: the task continues.',
    )
    .argument('<id>', 'the id from the response')
    .addHelpText(
      'after',
      `
In a terminal it draws the steps in place; elsewhere it prints one line for each event. After a lost connection it
resumes where it was.

Exit codes: 0 the task succeeded, 1 it did not or cannot be seen, 130 interrupted.
${examples('moorage tasks watch 6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11', 'moorage tasks watch "$ID" && echo installed')}`,
    )
    .action((id: string, options: ServerOptions) =>
      run(async () => (await import('./tasks.ts')).tasksWatch(context, options, id)),
    )

  withServerAndJson(tasks.command('cancel'))
    .description('Cancel a task. A waiting task ends at once; a running one as soon as its work allows.')
    .argument('<id>', 'the id from the response')
    .addHelpText('after', examples('moorage tasks cancel 6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11'))
    .action((id: string, options: ServerOptions) =>
      run(async () => (await import('./tasks.ts')).tasksCancel(context, options, id)),
    )
}
