console.log('tokramp');
