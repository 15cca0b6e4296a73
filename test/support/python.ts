/** A Python that has the package `requests`, which the code on our pages needs; `undefined` if none is installed. */
export const pythonWithRequests = ['python3', '/usr/bin/python3'].find(
  (program) =>
    Bun.which(program) !== null && Bun.spawnSync([program, '-c', 'import requests']).exitCode === 0,
);
