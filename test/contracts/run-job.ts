import type { TestService } from '../support/service.ts'

/** Runs a job of the service now, whenever it is due. */
export const runJob = async (service: TestService, id: string): Promise<void> => {
  const found = service.running.assembly.jobs.find(({ job }) => job.id === id)
  if (found === undefined) throw new Error(`The service has no job ${id}.`)
  await found.job.run(new AbortController().signal)
}
