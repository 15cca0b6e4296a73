/** Asks a server every 50 ms whether it lives, on a thread of its own; told to stop, it answers with the times in ms. */
declare const self: Worker;

self.onmessage = async ({ data: url }: MessageEvent<string>) => {
  const times: number[] = [];
  let faults = 0;
  let stopped = false;
  self.onmessage = () => {
    stopped = true;
  };
  while (!stopped) {
    const startedAt = performance.now();
    try {
      const answer = await fetch(`${url}/livez`);
      await answer.arrayBuffer();
      if (answer.status !== 200) faults++;
    } catch {
      faults++;
    }
    times.push(performance.now() - startedAt);
    await Bun.sleep(50);
  }
  self.postMessage({ times, faults });
};
